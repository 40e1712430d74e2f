import { hash } from 'node:crypto';
import { Memo } from '../../core/index.ts';
import { type Calendar, calendarOf } from './calendar.ts';
import { type ClaimedQuota, formatPeriod, isClaimed, type Quota, windowName } from './quota.ts';
import { StringHash } from './record-table.ts';

/**
 * The requests that a limit counts together:
 * - `global`: all of one caller
 * - `caller`: those of one caller in one bucket (and with one main value, if the bucket has a main parameter)
 * - `group`: those of all callers whose tokens have the same value of a claim, in one bucket (and of one main value)
 * - `resource`: those of all callers for one main value of the bucket
 */
export type LimitRole = (typeof LIMIT_ROLES)[number];

/** All roles. If several limits make a request wait equally long, the first in this order is reported. */
export const LIMIT_ROLES = ['global', 'caller', 'group', 'resource'] as const;

/** Whether several callers share the counters of such limits. */
export function isSharedRole(role: LimitRole): role is 'group' | 'resource' {
  return role === 'group' || role === 'resource';
}

/** Identifies a counter of a group: the shared claim value and the main value, which never contains a NUL. */
export function groupCounterKey(group: string, main: string): string {
  return `${group}\0${main}`;
}

/**
 * - `window`: a fixed window that opens at the first admitted request of its key
 * - `smooth`: a full burst, then one request every period / units (the generic cell rate algorithm)
 */
export type LimitAlgorithm = 'window' | 'smooth';

export interface LimitOptions {
  readonly role: LimitRole;
  /** The bucket's name; empty for a global limit. */
  readonly bucket: string;
  /** Name of the bucket's main parameter, or null. */
  readonly main: string | null;
  /** The claim whose values distinguish groups. Only for the role `group`. */
  readonly claim?: string;
  readonly algorithm: LimitAlgorithm;
  readonly quota: Quota | ClaimedQuota;
  /** Where the periods of the calendar begin at midnight. Default UTC. */
  readonly timeZone?: string;
  /** How long before its Reset a window may count as closed, in milliseconds. Default 20. */
  readonly windowSlackMs?: number;
  /** Whether it only tests other numbers in parallel to the limit in force, with its own counters. Default false. */
  readonly isTrial?: boolean;
  /** Maximum units that one request costs. Default 1. */
  readonly largestCost?: number;
  /** Whether the bucket has quotas of costs, so that all others count requests. Default false. */
  readonly hasCostQuota?: boolean;
  /** Whether it counts preflights, apart from other requests. Default false. */
  readonly ofPreflights?: boolean;
  /** Whether units of callers may be returned, as those of groups and resources always may. Default false. */
  readonly returnsUnits?: boolean;
  /** Whether responses tell what their requests cost. Default false. */
  readonly isPriced?: boolean;
}

/** One limit of a configuration, compiled and immutable. A store keeps its counters under its identity. */
export interface Limit {
  /**
   * Limits with the same identity share their counters, also across a reload. Changing the number of units or moving into or out
   * of shadow keeps the identity, and so does another time zone, which open windows do not follow; changing role, bucket, algorithm,
   * period, main parameter or claim does not. A trial limit has
   * its own.
   */
  readonly identity: string;
  readonly role: LimitRole;
  /** The bucket's name; empty for a global limit. */
  readonly bucket: string;
  /** Whether it only tests other numbers in parallel to the limit in force. */
  readonly isTrial: boolean;
  /** The claim that distinguishes groups, or that may set a caller's number; `null` if neither. */
  readonly claim: string | null;
  readonly algorithm: LimitAlgorithm;
  /** The number of units; where a claim may set it, the number for callers whose token does not. */
  readonly units: number;
  /** Maximum units that a claim may set. */
  readonly maxUnits: number;
  readonly periodMs: number;
  /** The period as written: `5s`, `30d` or `day`. */
  readonly period: string;
  /** The unit of its quota (`Quota.unit`). */
  readonly unit: 'cost' | undefined;
  /** Whether a request consumes what it costs; if not, it consumes one unit. */
  readonly takesCost: boolean;
  /** When its windows end, if they are periods of the calendar; `periodMs` is then how long they are at most. Else `null`. */
  readonly calendar: Calendar | null;
  /** The window's slack in milliseconds, capped for this period and algorithm. */
  readonly slackMs: number;
  /** Maximum units that one request consumes. */
  readonly largestCost: number;
  /** Whether decisions say which window they drew on (`Decision.drawn`), so that units can be returned to it. */
  readonly returnsUnits: boolean;
  /** Whether it counts costs that may only be known after the decision: the difference is then consumed, or returned. */
  readonly isPriced: boolean;
  /** The further windows of a list of quotas. They have none themselves. */
  readonly more: readonly Limit[];
}

/** At most one limit of each role, with its further windows. */
export type LimitsByRole = Readonly<Record<LimitRole, Limit | null>>;

/** The period of one of these limits as it is written, where its role has several windows; else `''`. */
export function periodAmongSeveral(limits: LimitsByRole, limit: Limit | null): string {
  if (limit === null) return '';
  const first = limits[limit.role];
  return first === null || first.more.length === 0 ? '' : windowName(limit);
}

/** The units that a request of this cost consumes of a limit. */
export function unitsTaken({ takesCost }: Pick<Limit, 'takesCost'>, cost: number): number {
  return takesCost ? cost : 1;
}

/** The limits in the order of their roles, each followed by its further windows. */
export function limitsIn(limits: LimitsByRole): Limit[] {
  return LIMIT_ROLES.flatMap(role => windowsOf(limits[role]));
}

/** A limit and its further windows; none for `null`. */
export function windowsOf(limit: Limit | null): readonly Limit[] {
  return limit === null ? [] : [limit, ...limit.more];
}

/**
 * Returns what header fields describe of several windows: the one with the least left, the shortest of equals; where nothing is
 * left, the one that resets last.
 *
 * @param windows in the order of their periods
 */
export function mostPressing<Window extends { readonly remaining: number; readonly resetInMs: number }>(
  windows: readonly Window[],
): Window | null {
  let found = windows[0] ?? null;
  if (found === null || windows.length === 1) return found;
  let left = found.remaining;
  for (const each of windows) {
    const { remaining } = each;
    const isLater = remaining === 0 && left === 0 && each.resetInMs > found.resetInMs;
    if (remaining >= left && !isLater) continue;
    found = each;
    left = remaining;
  }
  return found;
}

/** The limits of one request. Compiled once per limit route and caller class. */
export interface LimitSet extends LimitsInForce {
  /** Limits that decide and count, but never refuse; null if absent. */
  readonly shadow: LimitsInForce | null;
}

/** Limits that decide together. */
export interface LimitsInForce extends LimitsByRole {
  /** How many requests of the caller may be in flight at once (`defineConcurrency`); null for no limit. */
  readonly concurrent: Limit | null;
}

/** No limits; also the base for sets with only some. */
export const NO_LIMITS: LimitSet = {
  global: null,
  caller: null,
  group: null,
  resource: null,
  concurrent: null,
  shadow: null,
};

/** The set with other limits in place of its own, also in shadow; without those for which `change` returns null. */
export function changeLimits(set: LimitSet, change: (limit: Limit) => Limit | null): LimitSet {
  const each = ({ global, caller, group, resource, concurrent }: LimitsInForce): LimitsInForce => ({
    global: global && change(global),
    caller: caller && change(caller),
    group: group && change(group),
    resource: resource && change(resource),
    concurrent: concurrent && change(concurrent),
  });
  return { ...each(set), shadow: set.shadow && each(set.shadow) };
}

/** A value for each class of callers. A class without its own uses that of users. */
export class ByClass<T> {
  readonly bot: T;
  readonly user: T;
  readonly address: T;
  readonly #more: ReadonlyMap<string, T>;

  /** @param names the additional classes with their own value */
  constructor(names: Iterable<string>, make: (name: string) => T) {
    this.bot = make('bot');
    this.user = make('user');
    this.address = make('address');
    this.#more = new Map([...new Set(names)].map(name => [name, make(name)]));
  }

  of(name: string): T {
    if (name === 'user') return this.user;
    if (name === 'bot') return this.bot;
    return name === 'address' ? this.address : (this.#more.get(name) ?? this.user);
  }

  /** The additional classes with their own value. */
  get names(): readonly string[] {
    return [...this.#more.keys()];
  }

  get all(): readonly T[] {
    return [this.bot, this.user, this.address, ...this.#more.values()];
  }
}

const DEFAULT_SLACK_MS = 20;
const MAX_SLACK = 0.02;

export function defineLimit(options: LimitOptions): Limit {
  const { role, bucket, main, claim, algorithm, quota, isTrial = false } = options;
  const { units, periodMs, unit } = quota;
  const takesCost = role !== 'global' && (options.hasCostQuota !== true || unit === 'cost');
  const largestCost = takesCost ? (options.largestCost ?? 1) : 1;
  const isPriced = options.isPriced === true && unit === 'cost';
  let slackMs = Math.min(options.windowSlackMs ?? DEFAULT_SLACK_MS, periodMs * MAX_SLACK);
  // With a whole step of slack, a smooth burst could exceed the limit by one request.
  if (algorithm === 'smooth') slackMs = Math.min(slackMs, periodMs / units / 2);
  const parts = [
    role,
    bucket,
    algorithm,
    quota.calendar ?? periodMs,
    main,
    ...(claim === undefined ? [] : [claim]),
    ...(unit === undefined ? [] : [unit]),
  ];
  if (options.ofPreflights === true) parts.push('preflights');
  const identity = JSON.stringify(isTrial ? [...parts, 'trial'] : parts);
  return {
    identity,
    role,
    bucket,
    isTrial,
    algorithm,
    units,
    periodMs,
    slackMs,
    unit,
    takesCost,
    largestCost,
    period: formatPeriod(quota),
    calendar: quota.calendar === undefined ? null : calendarOf(quota.calendar, options.timeZone ?? 'UTC'),
    claim: isClaimed(quota) ? quota.claim : (claim ?? null),
    maxUnits: isClaimed(quota) ? quota.maxUnits : units,
    returnsUnits: options.returnsUnits === true || isPriced || isSharedRole(role),
    isPriced,
    more: (quota.more ?? []).map(each => defineLimit({ ...options, quota: each })),
  };
}

const HASHES = 2 ** 32;

/**
 * A share of all callers that is the same in every gateway and after a restart. A larger share contains a smaller one. Each name
 * selects different callers, so that it is not always the same ones who get new things first.
 */
export class CallerShare {
  readonly percent: number;
  readonly #hash: StringHash;
  readonly #end: number;

  /** @param percent 1 to 100 */
  constructor(name: string, percent: number) {
    const ofName = new StringHash(0, 0);
    ofName.read(name);
    this.percent = percent;
    this.#hash = new StringHash(ofName.low, ofName.high);
    this.#end = (percent / 100) * HASHES;
  }

  includes(caller: string): boolean {
    this.#hash.read(caller);
    return this.#hash.low >>> 0 < this.#end;
  }
}

/**
 * - `value`: buckets with a main parameter have one hash per value
 * - `route`: all values share one, for client libraries that add the value themselves
 */
export type BucketHashing = 'value' | 'route';

const HEX_DIGITS = 32;
/** Digests remembered for all buckets of a configuration. */
const MAX_DIGESTS = 1_024;
/** Longer texts are not remembered but hashed each time: ids are shorter, and clients choose the length. */
const MAX_TEXT = 128;

/**
 * Identifies a bucket to clients: 32 hex digits of the SHA-256 of its name and main value. Excludes caller and quota, so that
 * every caller and replica sees the same hash, also after a restart or reload.
 */
export class BucketHash {
  readonly #bucket: string;
  readonly #hashing: BucketHashing;
  readonly #digests: RecentDigests;
  readonly #withoutValue: string;

  /** @param digests may be shared with other buckets */
  constructor(bucket: string, hashing: BucketHashing, digests: RecentDigests) {
    this.#bucket = bucket;
    this.#hashing = hashing;
    this.#digests = digests;
    this.#withoutValue = digest(bucket);
  }

  /** `main`: value of the main parameter, empty if the bucket has none. */
  of(main: string): string {
    if (main === '' || this.#hashing === 'route') return this.#withoutValue;
    return this.#digests.of(`${this.#bucket}\0${main}`);
  }
}

/** Remembers recent digests: the same few values recur, and a lookup costs a third of a SHA-256. */
export class RecentDigests {
  readonly #digests = new Memo(digest, MAX_DIGESTS);

  of(text: string): string {
    return text.length > MAX_TEXT ? digest(text) : this.#digests.of(text);
  }
}

function digest(text: string): string {
  return hash('sha256', text, 'hex').slice(0, HEX_DIGITS);
}
