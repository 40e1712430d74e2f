import type { Place } from './in-flight.ts';
import type { Limit, LimitRole, LimitSet } from './limit-definition.ts';

/**
 * A store's decision about one request. The numbers describe one limit: the one that refused, or on admission the caller's (or the
 * resource's, if the bucket has no other; never that of a group).
 *
 * Remaining is what is left after this request, and 0 on a refusal, even where a request that costs less would be admitted. Durations are whole milliseconds, rounded up. On a refusal `retryAfterMs` is at
 * least 1; a client that waits that long is not refused by the same limit again, unless others consume units during the wait.
 */
export interface Decision {
  readonly admitted: boolean;
  /**
   * The limit described; `null` if the request was admitted and has no bucket, or was refused because the store is unreachable
   * and the policy is `closed`. On any other refusal a global limit goes before a bucket's, and of a bucket's limits the one with
   * the longest wait is described.
   */
  readonly role: LimitRole | null;
  /** Units of the quota; 0 if no limit is described, like all numbers below. */
  readonly limit: number;
  /** 0 to limit. */
  readonly remaining: number;
  /** Milliseconds since the epoch when Remaining will be Limit again; the same in every response of a fixed window. */
  readonly resetAtMs: number;
  readonly resetAfterMs: number;
  /**
   * Whether it was refused because the caller has as many requests in flight as it may, although every quota admits it. The numbers
   * then say what is left of the quota, if the bucket has one.
   */
  readonly atOnce: boolean;
  /** The place that it takes among the requests in flight of its caller, to be given back at its end; `null` if it takes none. */
  readonly place: Place | null;
  /** 0 when admitted. */
  readonly retryAfterMs: number;
  /**
   * Whether several callers share the refusing key: a group, a resource, the key of a network, or the one that stands in where there
   * is no room. The caller is not to blame for what others have consumed. False when admitted.
   */
  readonly sharedKey: boolean;
  /**
   * Whether the refusing key is the caller's own for all main values beyond those that it may hold (see `OTHER_PARTS`). False
   * when admitted.
   */
  readonly otherParts: boolean;
  /** Names the window of the unit of the group's limit, for `refund`; 0 if none was consumed. */
  readonly groupWindow: number;
  /** Names the window of the unit of the resource's limit, for `refund`; 0 if none was consumed. */
  readonly resourceWindow: number;
  /**
   * When it was decided, in milliseconds since the epoch, by the clock that counts: the shared store's, or this process's
   * monotonic one. 0 if no store was asked.
   */
  readonly decidedAtMs: number;
  /** What the limits in shadow say about an admitted request. They are not asked about a refused one. */
  readonly shadow: ShadowDecision;
}

/** The decision of limits in shadow, each by itself. Each limit that admits the request has consumed its units. */
export interface ShadowDecision {
  /** The limits that would have refused the request. */
  readonly refused: readonly ShadowRole[];
  /** The windows of the units of the shared limits in shadow, as in a decision. */
  readonly groupWindow: number;
  readonly resourceWindow: number;
}

export type ShadowRole = LimitRole | 'concurrent';

/** The decision where no limit is in shadow. */
export const NO_SHADOW: ShadowDecision = { refused: [], groupWindow: 0, resourceWindow: 0 };

/** The decision about a request without limits. */
export const UNLIMITED: Decision = {
  admitted: true,
  role: null,
  limit: 0,
  remaining: 0,
  resetAtMs: 0,
  resetAfterMs: 0,
  atOnce: false,
  place: null,
  retryAfterMs: 0,
  sharedKey: false,
  otherParts: false,
  groupWindow: 0,
  resourceWindow: 0,
  decidedAtMs: 0,
  shadow: NO_SHADOW,
};

type LimitQuestion = [limits: LimitSet, caller: string, main: string, group?: string, cost?: number];

/**
 * Counts requests against their limits. One call decides all limits of a request: it consumes its units of each or of none. If it
 * admits the request, each limit in shadow then decides by itself, and consumes its units if it admits.
 *
 * `caller`: the stable key of a principal or an address; keys of different kinds must never be equal. `main`: the value of the
 * bucket's main parameter, empty if it has none. `group`: what the callers of one group have in common; empty for limits without a
 * group. `cost`: the units of each limit but the global one, of which a request consumes one.
 *
 * A store may return an object that it overwrites at the next call: copy what you need before you await anything.
 */
export interface LimitStore {
  decide(...asked: LimitQuestion): Decision | Promise<Decision>;
  /** Returns what `decide` would return, without consuming a unit: Remaining is what is left now. */
  peek(...asked: LimitQuestion): Decision | Promise<Decision>;
  /**
   * Gives the units of a request back to a shared limit, if the window that they came from is still open.
   *
   * @param part the main value of a resource, or the part of a group (`groupPart`)
   */
  refund(limit: Limit, part: string, window: number, cost?: number): void;
}

/** What is left of one limit. */
export interface Allowance {
  /** The units of the quota that the store counts by. */
  readonly units: number;
  readonly remaining: number;
  /** When all units will be free again, in milliseconds since the epoch. */
  readonly resetAtMs: number;
  /** How long the next request has to wait; 0 if the limit admits it. */
  readonly waitMs: number;
}

/**
 * Where the numbers are counted:
 * - `memory`: in this process, and nowhere else
 * - `redis`: for all gateways together
 * - `local`: in this process, as long as Redis is away
 */
export type CountedIn = 'memory' | 'redis' | 'local';

export interface AllowanceReading {
  readonly countedIn: CountedIn;
  /** One for each limit, in the order of the limits. */
  readonly allowances: readonly Allowance[];
  /** How many requests of the caller are in flight, for each limit on them. */
  readonly inFlight: readonly number[];
}

/**
 * Shows and resets counters, at the request of a person: those that callers share for a limit of a group or a resource, the
 * caller's own for any other. Both return `null` if nothing counts now.
 */
export interface AllowanceStore {
  /**
   * @param main the main value, '' for buckets without one: all buckets of `limits` have one, or none has. For a limit of a group
   *   its part (`groupPart`); it is then the only one
   * @param concurrent limits on requests in flight (`defineConcurrency`), with this main value as well. Default none
   */
  read(
    limits: readonly Limit[],
    caller: string,
    main: string,
    concurrent?: readonly Limit[],
  ): AllowanceReading | null | Promise<AllowanceReading | null>;
  /** `main`: null for every value that the caller holds. */
  reset(
    limits: readonly Limit[],
    caller: string,
    main: string | null,
  ): CountedIn | null | Promise<CountedIn | null>;
}
