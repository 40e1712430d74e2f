import type { Limit } from './limit-definition.ts';

/** What is left of one limit. */
export interface Allowance {
  /** Of the quota, as the store that counts has it. */
  readonly units: number;
  readonly remaining: number;
  /** When everything drawn will be restored, in milliseconds since the epoch. */
  readonly resetAtMs: number;
  /** 0: the limit admits the next request. */
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
  /** In the order of the limits. */
  readonly allowances: readonly Allowance[];
}

/**
 * Shows and resets counters, at the request of a person. Of a limit with the role `resource` these are the counters that all callers
 * share, of any other the caller's own. Null: nothing counts now.
 */
export interface AllowanceStore {
  /** `main`: the main value, '' for buckets without one. All buckets of `limits` have one, or none has. */
  read(
    limits: readonly Limit[],
    caller: string,
    main: string,
  ): AllowanceReading | null | Promise<AllowanceReading | null>;
  /** `main`: null for every value that the caller holds. */
  reset(
    limits: readonly Limit[],
    caller: string,
    main: string | null,
  ): CountedIn | null | Promise<CountedIn | null>;
}
