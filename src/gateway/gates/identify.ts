import { type Caller, type Invalid, readBearer, type Verdict, type Verifier } from '../../auth/index.ts';
import { globallyRefused, keysUnreachable, unauthenticated } from '../answers/index.ts';
import type { Exchange } from '../exchange.ts';
import type { GateResult } from './gate.ts';

/**
 * Turns the token into a caller, where the route wants to know. It refuses nobody for lack of a valid one: that is for
 * `authorise`, after the limits, on which such a request draws as its address.
 */
export function identify(exchange: Exchange): GateResult | Promise<GateResult> {
  const { route, head, generation, snapshot } = exchange;
  const authorization = head?.authorization ?? null;
  if (route === null || route.authentication === 'none' || authorization === null || exchange.isPreflight)
    return null;
  if (generation.identity === null || snapshot.identity === null)
    throw new Error('a route wants tokens, but nobody can check them');
  const { verifier } = generation.identity;
  const { schemes } = snapshot.identity;
  if (isKnown(exchange, authorization, verifier, schemes)) return null;
  const token = readBearer(authorization, schemes);
  if (typeof token !== 'string') {
    exchange.refusedToken = verifier.refuse(token);
    return null;
  }
  const verdict = verifier.verify(token, exchange.addressKey);
  if (verdict instanceof Promise) return verdict.then(awaited => conclude(exchange, token, awaited));
  return conclude(exchange, token, verdict);
}

/** Clients bring the same token with one request after the other: found good on this connection, it is looked at no more. */
function isKnown(
  exchange: Exchange,
  authorization: string,
  verifier: Verifier,
  schemes: readonly string[],
): boolean {
  const known = exchange.downstream.memory.token;
  if (known === null || known.authorization !== authorization) return false;
  if (known.verifier !== verifier || known.schemes !== schemes || !verifier.accepts(known.caller))
    return false;
  exchange.caller = known.caller;
  exchange.token = known.token;
  return true;
}

function conclude(exchange: Exchange, token: string, verdict: Verdict | Invalid): GateResult {
  switch (verdict.kind) {
    case 'bot':
    case 'user':
      exchange.caller = verdict;
      exchange.token = token;
      remember(exchange, token, verdict);
      return null;
    case 'invalid':
      exchange.refusedToken = verdict;
      return null;
    case 'unavailable':
      // Never 401: clients drop a token for good when they hear that it is invalid, and this one may not be.
      return keysUnreachable(verdict.retryAfterS);
    case 'spent':
      return globallyRefused(verdict.retryAfterMs);
  }
}

function remember(exchange: Exchange, token: string, caller: Caller): void {
  const { generation, snapshot, head, downstream } = exchange;
  const authorization = head?.authorization ?? null;
  if (generation.identity === null || snapshot.identity === null || authorization === null) return;
  const { verifier } = generation.identity;
  const { schemes } = snapshot.identity;
  downstream.memory.token = { verifier, schemes, authorization, token, caller };
}

/** Refuses requests without a valid token where the route requires one (docs/contract.md, 2.1). */
export function authorise(exchange: Exchange): GateResult {
  if (exchange.route?.authentication !== 'required' || exchange.isPreflight) return null;
  return exchange.caller === null ? unauthenticated(exchange.refusedToken) : null;
}
