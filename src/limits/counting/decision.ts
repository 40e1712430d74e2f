import type { Place } from './in-flight.ts';
import type { Limit, LimitRole, LimitSet } from './limit-definition.ts';

/**
 * A store's decision about one request. The numbers describe one limit: the one that refused, or on admission the caller's (or
 * the resource's, if the bucket has no other; never a group's).
 *
 * Remaining is what is left after this request, and 0 on a refusal, even if a cheaper request would be admitted. Durations are
 * whole milliseconds, rounded up. On a refusal `retryAfterMs` is at least 1; a client that waits that long is not refused by the
 * same limit again, unless others consume units during the wait.
 */
export interface Decision {
  readonly admitted: boolean;
  /**
   * The limit described; `null` if the request was admitted and has no bucket, or was refused because the store is unreachable
   * and the policy is `closed`. For other refusals, a global limit takes precedence over a bucket's, and among a bucket's limits
   * the one with the longest wait is described.
   */
  readonly role: LimitRole | null;
  /** The limit of that role: one of those asked about or, where the process counts alone, a part of one. */
  readonly by: Limit | null;
  /** Units of the quota; 0 if no limit is described, as for all numbers below. */
  readonly limit: number;
  /** 0 to limit. */
  readonly remaining: number;
  /** When Remaining will be Limit again, in milliseconds since the epoch; the same in all responses of a fixed window. */
  readonly resetAtMs: number;
  readonly resetAfterMs: number;
  /**
   * Whether it was refused because the caller has the maximum of requests in flight, although every quota admits it. The numbers
   * then describe the quota, if the bucket has one.
   */
  readonly atOnce: boolean;
  /** The place that it takes among its caller's requests in flight, to be returned at its end; `null` if none. */
  readonly place: Place | null;
  /** 0 when admitted. */
  readonly retryAfterMs: number;
  /**
   * Whether several callers share the refusing key: a group's, a resource's, a network's, or a stand-in used for lack of room.
   * The caller is not to blame for what others consumed. False when admitted.
   */
  readonly sharedKey: boolean;
  /**
   * Whether the refusing key is the one that the caller's main values beyond its maximum share (see `OTHER_PARTS`). False when
   * admitted.
   */
  readonly otherParts: boolean;
  /** What was consumed and can be returned with `refund`. */
  readonly drawn: readonly DrawnUnits[];
  /**
   * All windows of which the numbers describe one, in the order of their periods, if one of them is priced: what the request
   * turns out to cost may make another the one to describe. Else, and on a refusal, empty.
   */
  readonly windows: readonly WindowState[];
  /**
   * When it was decided, in milliseconds since the epoch, by the clock used for counting: the shared store's, or this process's
   * monotonic one. 0 if no store was asked.
   */
  readonly decidedAtMs: number;
  /** The shadow limits' decision about an admitted request. They do not decide about refused ones. */
  readonly shadow: ShadowDecision;
}

/** The decision of shadow limits, each on its own. Each limit that admits the request, with all its windows, has consumed its units. */
export interface ShadowDecision {
  /** The limits that would have refused the request. */
  readonly refused: readonly ShadowRole[];
  /** The units drawn, as in `Decision`. */
  readonly drawn: readonly DrawnUnits[];
}

/** Units that a request has consumed, of a limit with `returnsUnits`. */
export interface DrawnUnits {
  readonly limit: Limit;
  /** Identifies the window that they came from; never 0. */
  readonly window: number;
  /**
   * Set if a counter stood in for that of the request (`OTHER_PARTS`), and the limit is priced: the network that the counter is
   * for, or `null` if it is for further main values of the caller.
   */
  readonly standIn?: string | null | undefined;
}

export interface WindowState {
  readonly limit: Limit;
  readonly remaining: number;
  readonly resetAtMs: number;
  readonly resetInMs: number;
}

const NOTHING_DRAWN: readonly DrawnUnits[] = [];
export const NO_WINDOWS: readonly WindowState[] = [];

export type ShadowRole = LimitRole | 'concurrent';

/** The decision if no limit is in shadow. */
export const NO_SHADOW: ShadowDecision = { refused: [], drawn: NOTHING_DRAWN };

/** The decision about a request without limits. */
export const UNLIMITED: Decision = {
  admitted: true,
  role: null,
  by: null,
  limit: 0,
  remaining: 0,
  resetAtMs: 0,
  resetAfterMs: 0,
  atOnce: false,
  place: null,
  retryAfterMs: 0,
  sharedKey: false,
  otherParts: false,
  drawn: NOTHING_DRAWN,
  windows: NO_WINDOWS,
  decidedAtMs: 0,
  shadow: NO_SHADOW,
};

type LimitQuestion = [limits: LimitSet, caller: string, main: string, group?: string, cost?: number];

/**
 * Counts requests against their limits. One call decides all limits of a request: it consumes the units of all or of none. If it
 * admits the request, each shadow limit then decides on its own, and consumes its units if it admits.
 *
 * `caller`: the stable key of a principal or an address; keys of different kinds must never be equal. `main`: the value of the
 * bucket's main parameter, empty if it has none. `group`: the claim value that the callers of one group share; empty for limits
 * without a group. `cost`: the units consumed of each limit except the global one, of which a request always consumes one.
 *
 * A store may return an object that it overwrites at the next call: copy what you need before you await anything.
 */
export interface LimitStore {
  decide(...asked: LimitQuestion): Decision | Promise<Decision>;
  /** Returns what `decide` would return, without consuming a unit: Remaining is the current number. */
  peek(...asked: LimitQuestion): Decision | Promise<Decision>;
  /**
   * Returns units of a request, if the window that they came from is still open.
   *
   * @param part the main value of a caller or resource, or the part of a group (`groupPart`); `OTHER_PARTS` for a counter that
   *   stood in
   * @param cost how many; negative to consume that many more, even beyond the quota, because the request cost more than was known
   * @param caller whose units they are; not needed for a shared limit
   */
  refund(limit: Limit, part: string, window: number, cost?: number, caller?: string | null): void;
}

export interface Allowance {
  /** The units of the quota that the store uses. */
  readonly units: number;
  readonly remaining: number;
  /** When all units will be free again, in milliseconds since the epoch. */
  readonly resetAtMs: number;
  /** How long the next request has to wait; 0 if it would be admitted. */
  readonly waitMs: number;
}

/**
 * Where the numbers are counted:
 * - `memory`: in this process only
 * - `redis`: for all gateways together
 * - `local`: in this process, while Redis is unreachable
 */
export type CountedIn = 'memory' | 'redis' | 'local';

export interface AllowanceReading {
  readonly countedIn: CountedIn;
  /** One per limit, in the same order. */
  readonly allowances: readonly Allowance[];
  /** The caller's requests in flight, for each concurrency limit. */
  readonly inFlight: readonly number[];
}

/**
 * Shows and resets counters for operators: those that callers share for a group or resource limit, else the caller's own. Both
 * return `null` if nothing is counting now.
 */
export interface AllowanceStore {
  /**
   * @param main the main value, '' for buckets without one: all buckets of `limits` have one, or none has. For a group limit its
   *   part (`groupPart`); it is then the only limit
   * @param concurrent limits on requests in flight (`defineConcurrency`), with this main value as well. Default none
   */
  read(
    limits: readonly Limit[],
    caller: string,
    main: string,
    concurrent?: readonly Limit[],
  ): AllowanceReading | null | Promise<AllowanceReading | null>;
  /** `main`: null for all values that the caller holds. */
  reset(
    limits: readonly Limit[],
    caller: string,
    main: string | null,
  ): CountedIn | null | Promise<CountedIn | null>;
}
