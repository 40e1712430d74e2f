import type { Limit, LimitRole, LimitSet } from './limit.ts';

/**
 * What a store says to one request, in numbers. They describe one limit: the one that refused, or on admission the
 * caller's (the resource limit where the bucket has no other).
 *
 * Remaining is what is left after this request took its own. Durations are whole milliseconds, rounded up. On a refusal
 * `retryAfterMs` is at least 1, and a client that waits that long is not refused by the same limit, unless others drew on
 * it meanwhile.
 */
export interface Decision {
  readonly admitted: boolean;
  /**
   * The limit described; null when the request was admitted and has no bucket, and when it was refused because the store is
   * out of reach and nobody is to pass without it. On any other refusal a global limit goes before a
   * bucket's, and of a bucket's limits the one with the longest wait.
   */
  readonly role: LimitRole | null;
  /** Units of the quota; 0 when no limit is described, as are the numbers below. */
  readonly limit: number;
  /** 0 to limit. */
  readonly remaining: number;
  /** Milliseconds since the epoch when Remaining will be Limit again; the same in every response of a fixed window. */
  readonly resetAtMs: number;
  readonly resetAfterMs: number;
  /** 0 when admitted. */
  readonly retryAfterMs: number;
  /**
   * The refusing key is shared by several callers (a resource, or the key that stands in when the store is full): one of
   * them is not to blame for what the others drew.
   */
  readonly sharedKey: boolean;
  /** The refusing key is the one that all main values share past those that the caller may hold: see `OTHER_PARTS`. */
  readonly otherParts: boolean;
  /** Names the window that the unit of the resource limit was taken from, for `refund`; 0 when none was taken. */
  readonly resourceWindow: number;
}

/** The decision about a request without a limit. */
export const UNLIMITED: Decision = {
  admitted: true,
  role: null,
  limit: 0,
  remaining: 0,
  resetAtMs: 0,
  resetAfterMs: 0,
  retryAfterMs: 0,
  sharedKey: false,
  otherParts: false,
  resourceWindow: 0,
};

/**
 * Counts requests against their limits. All limits of one request are decided in one call: all are drawn on, or none.
 *
 * `caller`: the stable key of a principal or an address; keys of different kinds must not be equal. `main`: the value of
 * the bucket's main parameter, empty where it has none.
 *
 * A store may answer with an object that it writes over at the next call: take what you need before you wait for anything.
 */
export interface LimitStore {
  decide(limits: LimitSet, caller: string, main: string): Decision | Promise<Decision>;
  /** What `decide` would say of limits, without drawing on them: Remaining is what is left now. */
  peek(limits: LimitSet, caller: string, main: string): Decision | Promise<Decision>;
  /** Gives a unit of a resource limit back, if the window it was taken from is still open. */
  refund(limit: Limit, main: string, resourceWindow: number): void;
}
