import type { Quota } from './quota.ts';

/**
 * Whose requests a limit counts together:
 * - `global`: all of one caller
 * - `caller`: those of one caller in one bucket (and of one main value, where the bucket names a main parameter)
 * - `resource`: those of all callers for one main value of the bucket
 */
export type LimitRole = 'global' | 'caller' | 'resource';

/**
 * - `window`: a fixed window that opens at the first admitted request of its key
 * - `smooth`: a full burst, then one request every period / units (the generic cell rate algorithm)
 */
export type Algorithm = 'window' | 'smooth';

export interface LimitOptions {
  readonly role: LimitRole;
  /** The bucket's name; empty for a global limit. */
  readonly bucket: string;
  /** Name of the bucket's main parameter, or null. */
  readonly main: string | null;
  readonly algorithm: Algorithm;
  readonly quota: Quota;
  /** How long before its Reset a window may count as closed, in milliseconds. Default 20. */
  readonly windowSlackMs?: number;
  /** Its numbers are tried beside those that hold: it keeps counters of its own. Default false. */
  readonly isTrial?: boolean;
}

/** One limit of a configuration, compiled and immutable. A store keeps its counters under its identity. */
export interface Limit {
  /**
   * Limits with the same identity draw on the same counters, also across a reload. Changing the number of units keeps the
   * identity; changing role, bucket, algorithm, period or main parameter does not. A limit that moves into or out of shadow keeps
   * it, too; numbers that are tried beside others have their own.
   */
  readonly identity: string;
  readonly role: LimitRole;
  /** The bucket's name; empty for a global limit. */
  readonly bucket: string;
  /** Its numbers are tried beside those that hold. */
  readonly isTrial: boolean;
  readonly algorithm: Algorithm;
  readonly units: number;
  readonly periodMs: number;
  /** The window's slack in milliseconds, capped for this period and algorithm. */
  readonly slackMs: number;
}

/** At most one limit of each role. */
export type LimitsByRole = Readonly<Record<LimitRole, Limit | null>>;

/** The limits that one request draws on. Compiled once for each limit route and caller class. */
export interface LimitSet extends LimitsByRole {
  /** Limits that decide and count, but never refuse; null if absent. */
  readonly shadow: LimitsByRole | null;
}

/** No limits; also the base for sets with only some. */
export const NO_LIMITS: LimitSet = { global: null, caller: null, resource: null, shadow: null };

const DEFAULT_SLACK_MS = 20;
const MAX_SLACK = 0.02;

export function defineLimit(options: LimitOptions): Limit {
  const { role, bucket, main, algorithm, quota, isTrial = false } = options;
  const { units, periodMs } = quota;
  let slackMs = Math.min(options.windowSlackMs ?? DEFAULT_SLACK_MS, periodMs * MAX_SLACK);
  // With a whole step of slack, a smooth burst could exceed the limit by one request.
  if (algorithm === 'smooth') slackMs = Math.min(slackMs, periodMs / units / 2);
  const parts = [role, bucket, algorithm, periodMs, main];
  const identity = JSON.stringify(isTrial ? [...parts, 'trial'] : parts);
  return { identity, role, bucket, isTrial, algorithm, units, periodMs, slackMs };
}
