import { type Claim, claimOn, drawsOf } from '../../runtime/index.ts';
import type { Exchange } from '../exchange/index.ts';

/** The limits that an exchange draws on; null if the value of the main parameter is ambiguous. */
export function claimOf(exchange: Exchange): Claim | null {
  const { destination, dialect, token, snapshot, downstream, callerKey: caller } = exchange;
  const { route, path, isPreflight } = destination;
  const callerClass = token === null ? 'address' : token.caller.kind;
  const exempt = route?.kind === 'forward' && route.globalLimitExempt;
  // A preflight carries no token, so its route's policies do not apply to it.
  const draws =
    isPreflight || route === null ? 'global' : drawsOf(destination.authentication, callerClass, exempt);
  const method = dialect.routedMethod(downstream);
  return claimOn(snapshot.limits, { method, path, callerClass, caller, draws });
}
