import type { Fields } from '../../core/index.ts';
import {
  askedAddress,
  sentFields,
  strippedFrom,
  traceContextFields,
  upstreamFields,
} from '../../wire/http/index.ts';
import type { Exchange, To } from '../exchange/index.ts';

const NO_FIELDS: Fields = [];

/** @param isAwaited whether the service decides if it wants the body (`Expect: 100-continue`) */
export function fieldsFor(
  exchange: Exchange,
  destination: To<'forward'>,
  authorization: string | null,
  isAwaited: boolean,
): Fields {
  const { downstream, head, maxForwards, translation } = exchange;
  const { hostAndPort } = exchange.arrival;
  const { upstream, requestEdits } = destination.route;
  const sent = upstreamFields(head, {
    host: upstream.hostHeader ?? hostAndPort,
    clientHost: hostAndPort,
    peer: downstream.peer,
    scheme: downstream.scheme,
    version: downstream.version,
    requestId: exchange.requestId,
    trace: traceFor(exchange),
    authorization,
    identity: identityFor(exchange),
    origin: originFor(exchange, destination),
    maxForwards: maxForwards === null ? null : maxForwards - 1,
  });
  const ours = withoutTokens(sent, exchange, destination);
  const cut = translation === null ? ours : translation.requestFields(ours);
  const fields = isAwaited ? [...cut, 'Expect', '100-continue'] : cut;
  return requestEdits === null ? fields : requestEdits.apply(fields, exchange);
}

/** The fields of `forwarding_headers.send`. */
function originFor(
  { snapshot, arrival, head, downstream }: Exchange,
  { path, route }: To<'forward'>,
): Fields {
  const { sentFields: names } = snapshot;
  if (names === null) return NO_FIELDS;
  const client = askedAddress(head, arrival.hostAndPort, downstream.scheme);
  return sentFields(names, head, {
    address: arrival.client.address,
    client,
    prefix: strippedFrom(path, route),
  });
}

/**
 * The fields without tokens and the cookie of `balance`. A page whose URL has a token sends it as `Referer` to every route.
 */
function withoutTokens(fields: Fields, { snapshot }: Exchange, { route }: To<'forward'>): Fields {
  const { tokenFrom, upstream } = route;
  const others = upstream.balanceCookie === null ? fields : upstream.balanceCookie.cutFields(fields);
  const cut = tokenFrom === null ? others : tokenFrom.cutFields(others);
  return snapshot.tokensInUrls === null ? cut : snapshot.tokensInUrls.cutFields(cut);
}

/** The trace context for the upstream, with a new span; empty if tracing is off. */
function traceFor({ trace }: Exchange): Fields {
  if (trace === null) return NO_FIELDS;
  return traceContextFields({ ...trace, spanId: trace.upstreamSpanId }, trace.state);
}

/**
 * The fields that identify the sender: the caller from the token, and the connection's client certificate. Omits the certificate of
 * a proxy that is trusted to report the one of its client.
 */
function identityFor(exchange: Exchange): Fields {
  const { downstream, head, token, destination } = exchange;
  const own = token === null ? proofFor(head, destination) : token.caller.identityFields;
  const caller = head.apiKey === null ? own : [...own, ...apiKeyFor(exchange, head.apiKey)];
  const { clientCertificate } = downstream;
  if (clientCertificate === null || head.certificate !== null) return caller;
  return [...caller, 'Client-Cert', clientCertificate];
}

/** The proof of a token that the service has to check itself, because the route does not. */
function proofFor(
  { proof, proofForHop }: Exchange['head'],
  { authentication, isPreflight }: Exchange['destination'],
): Fields {
  const passes = authentication === 'none' && !isPreflight && !proofForHop;
  return passes && proof !== null && proof !== '' ? ['DPoP', proof] : NO_FIELDS;
}

/**
 * The `Authorization` for the upstream. On routes that check tokens: the valid token in the standard scheme, or nothing. On other
 * routes: what the client sent. A preflight forwards none.
 */
export function authorizationFor(
  { head, token }: Exchange,
  { isPreflight, authentication }: To<'forward'>,
): string | null {
  if (isPreflight) return null;
  if (authentication === 'none') return head.authorizationForHop ? null : head.authorization;
  return token === null || token.token === null ? null : `Bearer ${token.token}`;
}

/** The field with the API key: a valid key, or any value if the route does not check it, as with tokens. */
function apiKeyFor({ token, destination, snapshot }: Exchange, key: string): Fields {
  const keys = snapshot.identity?.apiKeys ?? null;
  if (keys === null || !keys.forward || destination.isPreflight) return NO_FIELDS;
  const isGood = token === null ? destination.authentication === 'none' : token.token === null;
  return isGood ? [keys.header, key] : NO_FIELDS;
}
