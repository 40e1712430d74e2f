import { isOfFile, locationFor } from '../../config/index.ts';
import { servesMethod } from '../../config/routing/index.ts';
import { firstValue, GatewayError, GrowingBytes } from '../../core/index.ts';
import { MAX_NOTICE_BYTES, type NoticeResponse } from '../../identity/auth/index.ts';
import {
  MAX_REQUEST_BYTES,
  mediaTypeRefusal,
  type SignIn,
  type SignInResponse,
} from '../../identity/signin/index.ts';
import { addTrace, askedMethod, preflightFields } from '../../wire/http/index.ts';
import type { BodyTerms } from '../../wire/http1/index.ts';
import { type Exchange, SERVED, type Served, type To } from '../exchange/index.ts';
import { addOwnFields, addSetFields, errors, USUAL_METHODS } from '../responses/index.ts';

/** Serves the sign-in endpoints (docs/contract.md, 1). */
export function serveSignIn(exchange: Exchange, { route, query }: To<'sign-in'>): Served {
  const signIn = exchange.generation.identity?.signIn ?? null;
  if (signIn === null) return exchange.answerError(errors.noRoute());
  if (!route.methods.includes(exchange.downstream.method))
    return exchange.answerError(errors.wrongMethod(route.methods.join(', ')));
  const { addressKey, head } = exchange;
  switch (route.endpoint) {
    case 'authorize-url':
      return reply(exchange, signIn.authorizeUrl(query));
    case 'auth':
      return serveBody(exchange, body => signIn.redeem(body, addressKey, head.proof));
    case 'refresh':
      return serveBody(exchange, body => signIn.refresh(body, addressKey, head.proof));
    case 'sign-out':
      return serveSignOut(exchange, signIn);
  }
}

/** Signs out the caller that the gates identified, once the complete body has arrived. */
function serveSignOut(exchange: Exchange, signIn: SignIn): Served {
  const { caller, addressKey, refusedToken, generation } = exchange;
  if (caller === null) return exchange.answerError(errors.unauthenticated(refusedToken, exchange));
  const endSession = async () => generation.identity?.endSession(caller);
  // The refresh token would be sent to a provider that did not issue it.
  if (caller.issuer !== signIn.issuer)
    return answerLater(exchange, endSession(), () => exchange.answerError(errors.signedInElsewhere()));
  return serveBody(exchange, body => signIn.signOut(body, addressKey, endSession));
}

/** Makes the response from a request's body. */
type Use = (body: Buffer) => Promise<SignInResponse | GatewayError>;

function serveBody(exchange: Exchange, use: Use): Served {
  const refusal = bodyRefusal(exchange);
  if (refusal !== null) return exchange.answerError(refusal);
  return readCompleteBody(exchange, MAX_REQUEST_BYTES, body =>
    // The promise always settles, because requests to the provider time out.
    answerLater(exchange, use(body), response => reply(exchange, response)),
  );
}

function bodyRefusal(exchange: Exchange): GatewayError | null {
  if (exchange.bodyLength !== 'chunked' && exchange.bodyLength > MAX_REQUEST_BYTES)
    return errors.bodyTooLarge();
  return mediaTypeRefusal(firstValue(exchange.downstream.fields, 'content-type')) ?? null;
}

function reply(exchange: Exchange, response: SignInResponse | GatewayError): Served {
  if (response instanceof GatewayError) return exchange.answerError(response);
  const { status, fields, body } = response;
  const reason = status === 204 ? 'No Content' : 'OK';
  return finishWith(exchange, { status, reason, fields, body: body.toString('latin1') });
}

/** Serves notices that the provider sends on its own, such as logouts, where the configuration gives them a public path. */
export function serveNotice(exchange: Exchange, { route }: To<'notice'>): Served {
  const notices = exchange.generation.identity?.notices;
  if (notices === undefined) return exchange.answerError(errors.noRoute());
  if (!route.methods.includes(exchange.downstream.method))
    return exchange.answerError(errors.wrongMethod(route.methods.join(', ')));
  return readCompleteBody(exchange, MAX_NOTICE_BYTES, body => {
    const contentType = firstValue(exchange.downstream.fields, 'content-type');
    // The promise always settles, because fetching keys and Redis time out.
    const taken = notices.take({ kind: route.notice, contentType, body, address: exchange.addressKey });
    return answerLater(exchange, taken, response => finishWith(exchange, response));
  });
}

function finishWith(exchange: Exchange, { status, reason, fields, body }: NoticeResponse): Served {
  // RFC 9110, 8.6: a 204 has no Content-Length.
  const all = status === 204 ? [...fields] : [...fields, 'Content-Length', String(body.length)];
  addOwnFields(all, exchange, exchange.rateFor(status));
  return exchange.response.finish('answered', status, reason, all, body);
}

/** Serves the fixed answer or redirect of a route. The request's body is never read. */
export function serveAnswer(exchange: Exchange, { route, path, query }: To<'answer'>): Served {
  const { status, reason, body, location, fields: own } = route.answer;
  const fields = location === null ? [...own] : ['Location', locationFor(location, path, query), ...own];
  route.responseEdits?.addToAnswer(fields);
  addOwnFields(fields, exchange, exchange.rateFor(status));
  return exchange.response.finish('answered', status, reason, fields, body);
}

/** Redirects to the same path with or without a slash at its end (`trailing_slash`). */
export function serveOtherSlash(exchange: Exchange, { route, path, query }: To<'slash'>): Served {
  const other = path.endsWith('/') ? path.slice(0, -1) : `${path}/`;
  const fields = ['Location', other + query, 'Content-Length', '0'];
  addSetFields(fields, { route });
  addOwnFields(fields, exchange, exchange.rate);
  return exchange.response.finish('answered', 308, 'Permanent Redirect', fields, '');
}

/** Serves the metadata that says whose tokens are accepted (RFC 9728). */
export function serveMetadata(exchange: Exchange, { route }: To<'metadata'>): Served {
  if (!route.methods.includes(exchange.downstream.method))
    return exchange.answerError(errors.wrongMethod(route.methods.join(', ')));
  const { document } = route;
  const fields = ['Content-Type', 'application/json', 'Content-Length', String(document.length)];
  addOwnFields(fields, exchange, exchange.rateFor(200));
  return exchange.response.finish('answered', 200, 'OK', fields, document);
}

/**
 * The body is small, so one deadline is enough. `readCompleteBody` limits the size of the data but not of its framing, which the
 * deadline bounds well enough.
 */
const BODY_TERMS: BodyTerms = { maxBytes: null, minBytesPerS: null, deadlineMs: 10_000 };

/** Reads the complete body, then answers. If the client disconnects first, does nothing. */
function readCompleteBody(exchange: Exchange, maxBytes: number, then: (body: Buffer) => Served): Served {
  if (exchange.bodyLength === 0) return then(Buffer.alloc(0));
  if (exchange.bodyLength !== 'chunked' && exchange.bodyLength > maxBytes)
    return exchange.answerError(errors.bodyTooLarge());
  const joined = new GrowingBytes(maxBytes);
  let whole: Buffer = Buffer.alloc(0);
  exchange.downstream.body(BODY_TERMS).start({
    chunk: bytes => {
      if (!exchange.response.isAwaited) return true;
      if (whole.length + bytes.length > maxBytes) exchange.answerError(errors.bodyTooLarge());
      else {
        whole = joined.join(whole, bytes);
        exchange.downstream.keeps(whole.length);
      }
      return true;
    },
    end: () => {
      if (exchange.response.isAwaited) then(whole);
    },
    fail: () => {},
  });
  // The body ends, breaks off with its connection, or misses the deadline above, which the listener answers.
  return SERVED;
}

/** Answers once a promise settles, which it must do. Does nothing if the client has disconnected by then. */
function answerLater<Outcome>(
  exchange: Exchange,
  outcome: Promise<Outcome>,
  reply: (outcome: Outcome) => Served,
): Served {
  outcome.then(
    value => {
      if (exchange.response.isAwaited) exchange.contain(() => reply(value));
    },
    (fault: unknown) => {
      if (exchange.response.isAwaited) exchange.fault(fault);
    },
  );
  // One of the two callbacks answers, perhaps later.
  return SERVED;
}

/** Answers an OPTIONS request that is not forwarded: lists the methods. */
export function serveOptions(exchange: Exchange, { route, path }: To<'options'>): Served {
  const { routes, namedMethods } = exchange.snapshot;
  const found = (method: string) => routes.find(method, exchange.host, path)?.value ?? null;
  // Includes OPTIONS, which the gateway answers here.
  const isServed = (method: string) => route === null || method === 'OPTIONS' || found(method) !== null;
  const isNamed = (method: string) => servesMethod(found(method)?.methods ?? null, method);
  const named = route === null ? [] : [...namedMethods.keys()].filter(isNamed);
  const fields = ['Allow', [...USUAL_METHODS.filter(isServed), ...named].join(', ')];
  addSetFields(fields, { route });
  addOwnFields(fields, exchange, exchange.rateFor(204));
  return exchange.response.finish('answered', 204, 'No Content', fields, '');
}

/** Answers a preflight. Allows no method if the requested one is not served by the route. */
export function servePreflight(exchange: Exchange, destination: To<'preflight'>): Served {
  const { kept } = exchange.head;
  const asked = askedMethod(kept);
  const served = asked !== null && serves(exchange, destination, asked) ? asked : null;
  const { route } = destination;
  const isOfCalls = isOfFile(route) && route.grpcWeb;
  const fields = [...preflightFields(destination.cors, kept, served, isOfCalls)];
  addSetFields(fields, destination);
  addTrace(fields, exchange.requestId);
  return exchange.response.finish('answered', 204, 'No Content', fields, '');
}

function serves({ snapshot, host }: Exchange, { route, path }: To<'preflight'>, method: string): boolean {
  if (!isOfFile(route)) return route.methods.includes(method);
  if (route.grpcWeb) return method === 'POST';
  return servesMethod(route.methods, method) && snapshot.routes.find(method, host, path)?.value === route;
}

const HTTPS_PORT = 443;

/**
 * Redirects a client to https with 308, which keeps method and body (RFC 9110, 15.4.9). Only to hosts that a certificate covers:
 * other hosts have no https here, and an attacker must not choose the target.
 */
export function serveRedirect(exchange: Exchange, { path, query }: To<'redirect'>): Served {
  const { redirect } = exchange.snapshot.listen;
  const host = (exchange.head.host ?? '').replace(/:\d*$/, '');
  if (redirect === null || path === '*') return exchange.answerError(errors.noRoute());
  if (redirect.hosts.find(host) === undefined)
    return exchange.answerError(errors.badRequest('no certificate of this gateway is for the Host'));
  const port = redirect.httpsPort === HTTPS_PORT ? '' : `:${redirect.httpsPort}`;
  const fields = ['Location', `https://${host}${port}${path}${query}`, 'Content-Length', '0'];
  addTrace(fields, exchange.requestId);
  return exchange.response.finish('answered', 308, 'Permanent Redirect', fields, '');
}
