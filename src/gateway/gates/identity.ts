import { isOfFile } from '../../config/index.ts';
import { GatewayError, hashOfToken, type InvalidReason } from '../../core/index.ts';
import type { ApiKeys, Caller, Invalid, Proofs, ProofVerdict, Verdict } from '../../identity/auth/index.ts';
import { invalid, readBearer } from '../../identity/auth/index.ts';
import type { Activity } from '../../identity/signin/index.ts';
import { KnownClient } from '../../limits/index.ts';
import { askedAddress, pathAsSent } from '../../wire/http/index.ts';
import type { AccessToken, Exchange, ValidToken } from '../exchange/index.ts';
import { errors, globallyRefused } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/**
 * Refuses a request with an access token and an API key where both are accepted: either could be meant, and each could have other
 * limits and rights.
 */
export function refuseTwoCredentials({ head, authorization, destination }: Exchange): GateResult {
  const { route, authentication } = destination;
  const hasTwo = head.apiKey !== null && authorization !== null;
  if (!hasTwo || authentication === 'none' || !isOfFile(route)) return null;
  return route.acceptsTokens && route.acceptsApiKeys ? errors.twoCredentials() : null;
}

/** A token as received, and what it is checked with. */
type Submitted = Omit<AccessToken, 'caller' | 'client' | 'token'>;

/**
 * Step 6: finds the token's caller if the route needs one. Does not refuse requests without a valid token: `authorise` does,
 * after they have consumed their address's limits.
 */
export function identify(exchange: Exchange): GateResult | Promise<GateResult> {
  // The client is only redirected, so no token is verified.
  if (exchange.destination.kind === 'redirect') {
    recallToken(exchange);
    return null;
  }
  const { authentication, route } = exchange.destination;
  if (authentication === 'none') return null;
  if (isOfFile(route) && route.acceptsApiKeys) {
    const { apiKey } = exchange.head;
    if (apiKey !== null) return identifyByKey(exchange, apiKey);
    if (!route.acceptsTokens) return null;
  }
  const submitted = submittedIn(exchange);
  if (submitted === null) return null;
  const known = lastToken(exchange, submitted);
  if (known !== null) return accept(exchange, known);
  const { verifier } = submitted;
  const token = tokenIn(exchange, submitted);
  if (typeof token !== 'string') {
    exchange.refusedToken = verifier.refuse(token);
    return null;
  }
  const verdict = verifier.verify(token, exchange.addressKey, maxAgeIn(exchange));
  if (verdict instanceof Promise)
    return verdict.then(awaited => conclude(exchange, submitted, token, awaited));
  return conclude(exchange, submitted, token, verdict);
}

function identifyByKey(exchange: Exchange, key: string): GateResult {
  const verifier = exchange.generation.identity?.apiKeys ?? null;
  if (verifier === null) return null;
  const verdict = verifier.verify(key, exchange.addressKey);
  if (verdict.kind === 'invalid') exchange.refusedToken = verifier.inUse.refuse(verdict);
  else if (verdict.kind === 'spent') return globallyRefused(verdict.retryAfterMs);
  else exchange.token = tokenOfKey(verdict, key, verifier);
  return null;
}

function tokenOfKey(caller: Caller, key: string, verifier: ApiKeys): ValidToken {
  return { caller, client: clientOf(caller), token: null, authorization: key, verifier: verifier.inUse };
}

/**
 * Finds the caller of a remembered token, without verifying any. For requests that never reach a service. A preflight carries no
 * token.
 */
export function recallToken(exchange: Exchange): void {
  if (exchange.destination.isPreflight) return;
  const ofKey = rememberedKey(exchange);
  if (ofKey !== null) exchange.token = ofKey;
  if (ofKey !== null || !takesTokens(exchange)) return;
  const submitted = submittedIn(exchange);
  const remembered = submitted === null ? null : ownToken(exchange, submitted);
  if (remembered !== null) exchange.token = remembered;
}

/**
 * The caller of a request that a restriction refused before its token was looked at, if the gateway remembers the token: the log
 * then names a caller whose address is restricted.
 */
export function rememberedCaller(exchange: Exchange): Caller | null {
  const { token, destination } = exchange;
  if (token !== null) return token.caller;
  const ofKey = rememberedKey(exchange);
  if (ofKey !== null) return ofKey.caller;
  const isRead = destination.authentication !== 'none' && takesTokens(exchange);
  const submitted = isRead ? submittedIn(exchange) : null;
  return submitted === null ? null : (ownToken(exchange, submitted)?.caller ?? null);
}

/** A token that the gateway remembers; `null` if it may be stolen: a proof is not checked here, so it counts as missing. */
function ownToken(exchange: Exchange, submitted: Submitted): AccessToken | null {
  const remembered = lastToken(exchange, submitted) ?? rememberedToken(exchange, submitted);
  if (remembered === null || remembered.caller.proofKey !== null) return null;
  return exchange.holdsCertificate(remembered.caller) ? remembered : null;
}

/** Whether a token counts there: not on a route for API keys alone. */
function takesTokens({ destination: { route } }: Exchange): boolean {
  return !isOfFile(route) || route.acceptsTokens;
}

/** The request's API key, if it is valid and the route accepts keys. */
function rememberedKey({ head, destination, generation }: Exchange): ValidToken | null {
  const { route, authentication } = destination;
  const isRead = isOfFile(route) && route.acceptsApiKeys && authentication !== 'none';
  const verifier = generation.identity?.apiKeys ?? null;
  if (!isRead || head.apiKey === null || verifier === null) return null;
  const caller = verifier.remembered(head.apiKey);
  return caller === null ? null : tokenOfKey(caller, head.apiKey, verifier);
}

/** The token among those that the verifier knows to be valid; `null` if it is not. */
function rememberedToken(exchange: Exchange, submitted: Submitted): AccessToken | null {
  const token = tokenIn(exchange, submitted);
  const caller = typeof token === 'string' ? submitted.verifier.remembered(token) : null;
  if (typeof token !== 'string' || caller === null) return null;
  return { ...submitted, caller, client: clientOf(caller), token };
}

/**
 * Sets the caller of a valid token, unless the token is bound to a certificate that the request did not present, or to a key
 * without a proof.
 */
function accept(exchange: Exchange, token: AccessToken): GateResult | Promise<GateResult> {
  if (!exchange.holdsCertificate(token.caller)) return refuse(exchange, token, 'certificate');
  const proofs = exchange.generation.identity?.proofs ?? null;
  if (proofs !== null) return prove(exchange, token, proofs);
  exchange.token = token;
  return null;
}

/** Has the proof of a request checked (RFC 9449, 4.3), and accepts or refuses its token by that. */
function prove(exchange: Exchange, token: AccessToken, proofs: Proofs): GateResult | Promise<GateResult> {
  const { head, arrival, downstream } = exchange;
  const { proofKey: key } = token.caller;
  const verdict = proofs.check({
    ...askedAddress(head, arrival.hostAndPort, downstream.scheme),
    method: downstream.method,
    path: pathOfProof(exchange),
    key,
    tokenHash: () => hashOfToken(token.token),
    underDpop: exchange.usesDpop,
    proof: head.proof,
    address: exchange.addressKey,
    isKnown: key !== null && downstream.memory.provenKey === key,
  });
  return verdict instanceof Promise
    ? verdict.then(awaited => concludeProof(exchange, token, awaited))
    : concludeProof(exchange, token, verdict);
}

/** The path that a proof has to name: that of the request as it came, which is the destination's unless that has other slashes. */
function pathOfProof({ downstream, head, destination, snapshot }: Exchange): string {
  return snapshot.takesOddPaths
    ? (pathAsSent(downstream.target, head.host ?? '') ?? destination.path)
    : destination.path;
}

function concludeProof(exchange: Exchange, token: AccessToken, verdict: ProofVerdict): GateResult {
  const { memory } = exchange.downstream;
  switch (verdict.kind) {
    case 'proved':
      memory.provenKey = token.caller.proofKey;
      exchange.freshNonce = verdict.nonce;
      exchange.token = token;
      return null;
    case 'refused':
      memory.provenKey = null;
      exchange.freshNonce = verdict.nonce;
      return refuse(exchange, token, verdict.reason);
    case 'spent':
      return globallyRefused(verdict.retryAfterMs);
    case 'unavailable':
      return errors.storeUnreachable(verdict.retryAfterMs);
  }
}

function refuse(exchange: Exchange, { caller, verifier }: AccessToken, reason: InvalidReason): null {
  exchange.refusedToken = verifier.refuse(
    { kind: 'invalid', reason, claim: null, principal: caller.principal },
    caller,
  );
  return null;
}

function clientOf({ principal }: Caller): KnownClient {
  return new KnownClient('principal', principal);
}

/**
 * The token as received; `null` if there is none, or no provider to check it. Then `authorise` refuses requests that need one.
 */
function submittedIn({ authorization, generation, snapshot }: Exchange): Submitted | null {
  const { identity } = generation;
  if (authorization === null || identity === null || snapshot.identity === null) return null;
  return { authorization, verifier: identity.verifier, schemes: snapshot.identity.schemes };
}

function tokenIn({ snapshot }: Exchange, { authorization, schemes }: Submitted): string | Invalid {
  return readBearer(authorization, schemes, snapshot.identity?.maxTokenLength ?? 0);
}

/** The token of the connection's last request, if it is the same and still valid. */
function lastToken(exchange: Exchange, { authorization, verifier, schemes }: Submitted): AccessToken | null {
  const known = exchange.downstream.memory.token;
  if (known === null || known.authorization !== authorization) return null;
  if (known.verifier !== verifier || known.schemes !== schemes) return null;
  return verifier.accepts(known.caller, maxAgeIn(exchange)) ? known : null;
}

/** How old the provider's answer about the token may be, as far as the route has a say. */
function maxAgeIn({ destination: { route } }: Exchange): number {
  return (isOfFile(route) ? route.introspectionMs : null) ?? Number.POSITIVE_INFINITY;
}

function conclude(
  exchange: Exchange,
  { authorization, verifier, schemes }: Submitted,
  token: string,
  verdict: Verdict | Invalid,
): GateResult | Promise<GateResult> {
  switch (verdict.kind) {
    case 'bot':
    case 'user': {
      const valid = {
        caller: verdict,
        client: clientOf(verdict),
        token,
        authorization,
        verifier,
        schemes,
      };
      exchange.downstream.memory.token = valid;
      return accept(exchange, valid);
    }
    case 'invalid':
      exchange.refusedToken = verdict;
      return null;
    case 'unavailable':
      // Never 401: clients discard a token once told that it is invalid, and this one may be valid.
      return errors.keysUnreachable(verdict.retryAfterMs);
    case 'unanswered':
      return verdict.error;
    case 'spent':
      return globallyRefused(verdict.retryAfterMs);
  }
}

/**
 * Step 6: asks the provider whether the token is still valid, on routes that want this. Does not refuse a request with an invalid
 * one: `authorise` does, after it has consumed its address's limits.
 */
export function introspect(exchange: Exchange): GateResult | Promise<GateResult> {
  const { token, destination, generation, addressKey } = exchange;
  const { route } = destination;
  if (token === null || !isOfFile(route) || route.introspectionMs === null) return null;
  const { identity } = generation;
  if (identity === null || token.token === null) return null;
  const answer = identity.introspect(token.caller, token.token, route.introspectionMs, addressKey);
  return answer instanceof Promise
    ? answer.then(said => concludeIntrospection(exchange, said))
    : concludeIntrospection(exchange, answer);
}

function concludeIntrospection(exchange: Exchange, said: Activity | GatewayError): GateResult {
  if (said instanceof GatewayError) return said;
  if (said === 'active') return null;
  const principal = exchange.token?.caller.principal ?? null;
  exchange.refusedToken = { ...invalid('inactive'), principal };
  exchange.token?.verifier.refuse(exchange.refusedToken, exchange.token.caller);
  exchange.token = null;
  return null;
}
