import type { BucketModel, Consumption, LimitPolicies, PriceModel } from '../../config/index.ts';
import { consumptionOf, globalConsumption, returnableUnitsOf } from '../../config/index.ts';
import type { GatewayError, QuotaUse } from '../../core/index.ts';
import {
  type Decision,
  isSharedRole,
  mostPressing,
  periodAmongSeveral,
  type ShadowDecision,
} from '../../limits/index.ts';
import { type Exchange, limitsConsumedBy, type Price } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import type { Hold } from '../held-requests.ts';
import {
  bucketRefused,
  errors,
  globallyRefused,
  policyFields,
  policyReportOf,
  type RateReport,
  rateReport,
  refusedAtOnce,
} from '../responses/index.ts';
import { noteRefusal } from '../runtime/index.ts';
import type { GateResult } from './gate.ts';

/**
 * Step 8: consumes a unit of every limit of the request, or refuses it and consumes none. If the upstream is full, only checks
 * them.
 */
export function limit(exchange: Exchange, state: GatewayState): GateResult | Promise<GateResult> {
  const consumption = consumptionBy(exchange);
  return consumption === null
    ? errors.badRequest('the path contains bytes that are not UTF-8')
    : consume(exchange, consumption, state);
}

/** Consumes a unit of the sender's global limit for a request that was refused before. Returns that refusal, or a 429 beyond the limit. */
export function consumeGlobal(
  refusal: GatewayError,
  exchange: Exchange,
  state: GatewayState,
): GateResult | Promise<GateResult> {
  const consumption = globalConsumption(exchange.snapshot.limits, exchange.callerClass, exchange.callerKey);
  const limited = consume(exchange, consumption, state);
  return limited instanceof Promise ? limited.then(awaited => awaited ?? refusal) : (limited ?? refusal);
}

/** Consumes a unit of each limit, or refuses and consumes none. */
function consume(
  exchange: Exchange,
  consumption: Consumption,
  state: GatewayState,
): GateResult | Promise<GateResult> {
  const { patienceMs } = exchange.snapshot.limits;
  if (patienceMs !== null && exchange.noRoom === null)
    return decidePatiently(exchange, consumption, state, patienceMs, decision =>
      conclude(exchange, consumption, decision, state),
    );
  const { store } = state.limiting;
  const { set, caller, main, group, cost } = consumption;
  const decision =
    exchange.noRoom === null
      ? store.decide(set, caller, main, group, cost)
      : store.peek(set, caller, main, group, cost);
  if (!(decision instanceof Promise)) return conclude(exchange, consumption, decision, state);
  return decision.then(awaited => conclude(exchange, consumption, awaited, state));
}

function conclude(
  exchange: Exchange,
  consumption: Consumption,
  decision: Decision,
  state: GatewayState,
): GateResult {
  const { bucket, callerClass, caller, main, consumes } = consumption;
  const { admitted, atOnce, role, limit: units, remaining, retryAfterMs, place } = decision;
  // The client may have disconnected while the store decided.
  if (exchange.response.isOver) place?.leave();
  else exchange.place ??= place;
  if (!admitted && role === null && !atOnce) return errors.storeUnreachable(retryAfterMs);
  if (admitted && exchange.noRoom !== null) return null;
  const outcome = admitted ? 'admitted' : atOnce ? 'concurrent' : (role ?? 'global');
  const name = bucket === null ? null : bucket.name;
  const decidedAtMs = decision.decidedAtMs || exchange.arrivedAtMs;
  const nearLimit = units > 0 && remaining * 5 <= units;
  const quota = nearLimit ? longQuotaOf(decision) : undefined;
  const period = atOnce ? '' : periodAmongSeveral(consumption.set, decision.by);
  state.limiting.listener.decided({ bucket: name, callerClass, caller, outcome, period, nearLimit, quota });
  if (outcome === 'global') state.limiting.defaults.refused(callerClass, exchange.snapshot);
  if (!admitted)
    noteRefusal(state.limiting.offences.ignoredRefusals, consumption, decision, {
      address: exchange.restrictedKey,
      principal: exchange.token === null ? null : exchange.token.caller.principal,
      isPreflight: exchange.destination.isPreflight,
    });
  if (admitted && decision.shadow.refused.length > 0)
    noteShadow(exchange, consumption, decision.shadow, state);
  const consumed = returnableUnitsOf(consumption, decision);
  const nowMs = state.clock.monotonicMs();
  const { policies } = exchange.snapshot.limits;
  const rate =
    bucket === null || role === null || outcome === 'global'
      ? null
      : rateOf(consumption, bucket, decision, policies, nowMs);
  const returnsTo = consumed.length === 0 ? null : bucket;
  const isPriced = consumption.price !== null && admitted;
  const price = isPriced
    ? priceOf(consumption.price, { request: consumption, decision: { ...decision }, rate, policies, nowMs })
    : null;
  exchange.ruling = {
    bucket: name,
    main,
    outcome,
    period: admitted ? '' : period,
    consumes,
    decidedAtMs,
    rate,
    described: decision.by,
    price,
    units: consumed,
    returnsTo,
  };
  if (admitted) return null;
  if (rate !== null) return bucketRefused(retryAfterMs, rate.scope);
  if (atOnce) return refusedAtOnce(retryAfterMs);
  const policy = policies === null ? null : policyReportOf(decision, consumption.set, policies, null, nowMs);
  const fields = policy === null ? [] : policyFields(policy, nowMs);
  return globallyRefused(retryAfterMs, fields, decision.sharedKey);
}

interface Pricing {
  readonly request: Consumption;
  /** A copy: the store overwrites its own. */
  readonly decision: Decision;
  readonly rate: RateReport | null;
  readonly policies: LimitPolicies | null;
  readonly nowMs: number;
}

/** How the response tells the price, and what the client is told of the bucket then: another window may be the one to describe. */
function priceOf(model: PriceModel, { request, decision, rate, policies, nowMs }: Pricing): Price {
  const { bucket, cost: reserve } = request;
  const asAdmitted = { rate, described: decision.by };
  return {
    ...model,
    reserve,
    describeAt(cost) {
      const windows = decision.windows.map(each => {
        const left = each.remaining + Math.min(reserve, each.limit.units) - cost;
        return each.limit.isPriced
          ? { ...each, remaining: Math.min(each.limit.units, Math.max(0, left)) }
          : each;
      });
      const found = mostPressing(windows);
      if (found === null || bucket === null || rate === null || cost === reserve) return asAdmitted;
      const { limit: by, remaining, resetAtMs, resetInMs: resetAfterMs } = found;
      const described = { ...decision, by, limit: by.units, remaining, resetAtMs, resetAfterMs };
      return { rate: rateOf(request, bucket, described, policies, nowMs), described: by };
    },
  };
}

/** Quotas of this period or more, milliseconds, are shown with what is left of them. */
const LONG_MS = 3_600_000;

/** What is left of a quota that lasts long; `undefined` for others, and where other callers or main values draw on it as well. */
function longQuotaOf(decision: Decision): QuotaUse | undefined {
  const { by, limit, remaining, resetAtMs, sharedKey, otherParts, atOnce } = decision;
  if (by === null || by.periodMs < LONG_MS || isSharedRole(by.role)) return undefined;
  return sharedKey || otherParts || atOnce ? undefined : { period: by.period, limit, remaining, resetAtMs };
}

/** Reports the state of the bucket to the client. */
function rateOf(
  { set, main }: Consumption,
  bucket: BucketModel,
  decision: Decision,
  policies: LimitPolicies | null,
  nowMs: number,
): RateReport {
  const hash = bucket.hash.of(main);
  // Several main values or callers share this counter, so this caller may have consumed nothing of it. And a client that sees
  // `user` while units are left would send again at once.
  const isShared = decision.sharedKey || decision.otherParts || decision.atOnce;
  const scope = isShared ? 'shared' : bucket.scope;
  const policy = policies === null ? null : policyReportOf(decision, set, policies, hash, nowMs);
  return rateReport(decision, hash, scope, nowMs, policy);
}

/** Records which shadow limits would have refused the request. */
function noteShadow(
  exchange: Exchange,
  { bucket, callerClass }: Consumption,
  { refused }: ShadowDecision,
  { limiting }: GatewayState,
): void {
  exchange.shadowRefusals = refused;
  const name = bucket === null ? null : bucket.name;
  for (const by of exchange.shadowRefusals)
    limiting.listener.shadowRefused({ bucket: name, callerClass, by });
}

/** The limits that the exchange consumes a unit of; `null` if the value of the main parameter is ambiguous. */
function consumptionBy(exchange: Exchange): Consumption | null {
  const { destination, dialect, token, shortfall, snapshot, downstream, host, callerKey: caller } = exchange;
  const { path } = destination;
  const { limits } = snapshot;
  const { callerClass } = exchange;
  const claimed = limits.claims === null || token === null ? null : limits.claims.of(token.caller);
  const consumes = limitsConsumedBy(callerClass, destination, shortfall);
  const method = dialect.routedMethod(downstream);
  return consumptionOf(limits, { method, host, path, callerClass, caller, claimed, consumes });
}

type Conclude = (decision: Decision) => GateResult;

/** Decides as usual, but holds a request that would be refused with a wait of at most `patienceMs`. */
function decidePatiently(
  exchange: Exchange,
  consumption: Consumption,
  { limiting: { store }, held }: GatewayState,
  patienceMs: number,
  conclude: Conclude,
): GateResult | Promise<GateResult> {
  const { set, caller, main, group, cost } = consumption;
  const decide = () => store.decide(set, caller, main, group, cost);
  const holding = { consumption, patienceMs, decide };
  const behind = held.behindOthers(holding, conclude);
  if (behind !== null) return waitFor(exchange, behind);
  const holdOrConclude = (decision: Decision) => {
    const hold = held.afterRefusal(holding, decision, conclude);
    return hold === null ? conclude(decision) : waitFor(exchange, hold);
  };
  const decision = decide();
  return decision instanceof Promise ? decision.then(holdOrConclude) : holdOrConclude(decision);
}

function waitFor(exchange: Exchange, hold: Hold<GateResult>): Promise<GateResult> {
  // The exchange may have ended while the store decided.
  if (!exchange.response.isAwaited) hold.leave();
  const heldAtMs = exchange.clock.monotonicMs();
  exchange.leaveLine = () => {
    exchange.leaveLine = null;
    exchange.heldMs = exchange.clock.monotonicMs() - heldAtMs;
    hold.leave();
  };
  return hold.result.finally(() => exchange.leaveLine?.());
}
