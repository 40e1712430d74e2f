import type { BucketModel, CallerClass } from '../../config/index.ts';
import { mainValue } from '../../http/index.ts';
import { type Decision, type LimitSet, NO_LIMITS, OTHER_PARTS } from '../../limits/index.ts';
import { badRequest, bucketRefused, globallyRefused, reportOf, storeUnreachable } from '../answers/index.ts';
import type { Exchange } from '../exchange.ts';
import type { GatewayState } from '../gateway-state.ts';
import type { GateResult } from './gate.ts';

/** What a request draws on, and as whom. */
interface Claim {
  readonly set: LimitSet;
  readonly bucket: BucketModel | null;
  readonly callerClass: CallerClass;
  readonly caller: string;
  readonly main: string;
}

/** Draws on all limits of the request, or on none and refuses. What its upstream has no room for draws on none, either. */
export function limit(exchange: Exchange, state: GatewayState): GateResult | Promise<GateResult> {
  const claim = claimOf(exchange);
  if (claim === null) return badRequest('the path holds bytes that are not UTF-8');
  const { store } = state.limiting;
  const decision =
    exchange.noPermit === null
      ? store.decide(claim.set, claim.caller, claim.main)
      : store.peek(claim.set, claim.caller, claim.main);
  if (!(decision instanceof Promise)) return conclude(exchange, claim, decision, state);
  return decision.then(awaited => conclude(exchange, claim, awaited, state));
}

/** Null: the value of the main parameter cannot be read in one way. */
function claimOf(exchange: Exchange): Claim | null {
  const { caller, route, snapshot, downstream } = exchange;
  const callerClass = caller?.kind ?? 'address';
  const key = caller?.principal ?? exchange.addressKey;
  const { limits } = snapshot;
  // A preflight and an OPTIONS about the gateway itself come without a token and lead to no bucket.
  if (exchange.isPreflight || exchange.isServerWide) {
    return { set: limits.global.address, bucket: null, callerClass, caller: key, main: '' };
  }
  const exempt = route?.kind === 'forward' && route.globalLimitExempt;
  const global = exempt ? NO_LIMITS : limits.global[callerClass];
  const plain = { set: global, bucket: null, callerClass, caller: key, main: '' } as const;
  // Without a valid token where one is required, only the address's global limit is drawn on: buckets are for callers.
  if (route?.authentication === 'required' && caller === null) return plain;
  const match = limits.routes.find(downstream.method, exchange.path);
  if (match === null) return plain;
  const { bucket, mainAt } = match.value;
  const main = mainAt === null ? '' : mainValue(match.params[mainAt] ?? '');
  if (main === null) return null;
  const sets = exempt ? bucket.exemptSets : bucket.sets;
  return { set: sets[callerClass], bucket, callerClass, caller: key, main };
}

function conclude(exchange: Exchange, claim: Claim, decision: Decision, state: GatewayState): GateResult {
  const { bucket, callerClass, set, main } = claim;
  const { limiting } = state;
  if (!decision.admitted && decision.role === null) return storeUnreachable(decision.retryAfterMs);
  if (decision.admitted && exchange.noPermit !== null) return null;
  const outcome = decision.admitted ? 'admitted' : (decision.role ?? 'global');
  const nearLimit = decision.limit > 0 && decision.remaining * 5 <= decision.limit;
  exchange.decision = { bucket: bucket?.name ?? null, main, outcome };
  limiting.listener.decided({ bucket: bucket?.name ?? null, callerClass, outcome, nearLimit });
  if (outcome === 'global') {
    noteRefusal(exchange, claim, decision, state);
    return globallyRefused(decision.retryAfterMs);
  }
  if (bucket === null || decision.role === null) return null;
  const scope = outcome === 'resource' ? 'shared' : bucket.scope;
  exchange.rate = reportOf(decision, bucket.hash.of(main), scope, state.clock.monotonicMs());
  if (decision.admitted) {
    if (set.resource !== null && decision.resourceWindow !== 0) {
      exchange.resourceUnit = { limit: set.resource, main, window: decision.resourceWindow };
    }
    return null;
  }
  noteRefusal(exchange, claim, decision, state);
  return bucketRefused(decision.retryAfterMs, scope);
}

/** Counts callers who ignore their own refusals: not for what others drew, and not a browser's preflight. */
function noteRefusal(
  exchange: Exchange,
  { set, main }: Claim,
  decision: Decision,
  state: GatewayState,
): void {
  const refused = decision.role === 'global' ? set.global : set.caller;
  if (decision.sharedKey || refused === null || exchange.isPreflight) return;
  state.limiting.ignoredRefusals.note({
    address: exchange.addressKey,
    principal: exchange.caller?.principal ?? null,
    limit: refused,
    main: decision.otherParts ? OTHER_PARTS : main,
    waitMs: decision.retryAfterMs,
  });
}
