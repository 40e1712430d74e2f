/** What a response says about the limit that it was counted against. */
export interface RateHeaders {
  readonly limit: number;
  readonly remaining: number;
  readonly reset: string;
  readonly resetAfterS: number;
  readonly bucket: string;
}

/** One limit of one caller in one bucket, as its responses showed it. */
interface Share {
  readonly caller: number;
  /** Admitted requests by the `Reset` of their window. */
  readonly windows: Map<string, Window>;
  admitted: number;
  limit: number;
  /** Seconds for one unit, if the limit is smooth: never more than the true value. */
  stepS: number;
  firstAtMs: number;
  lastAtMs: number;
}

interface Window {
  admitted: number;
  limit: number;
  /** How many of them had no unit left after them. */
  exhausted: number;
}

export interface BucketReport {
  readonly bucket: string;
  readonly callers: number;
  readonly limit: number;
  /** Windows that responses named; null: the limit is smooth, and has none. */
  readonly windows: number | null;
  /** Requests admitted in the fullest window or, if the limit is smooth, to the caller that got the most. */
  readonly most: number;
  /** What those may be at most. */
  readonly allowed: number;
  readonly held: boolean;
}

/**
 * Counts what limits admitted, by the X-RateLimit headers (docs/contract.md, 4.5). All responses of a window have the same
 * `Reset`, and of one caller at most `Limit` of them may be admitted.
 */
export class LimitWatch {
  readonly #shares = new Map<string, Map<string, Share>>();

  /** A request was admitted; times are of one clock. */
  admitted(caller: number, rate: RateHeaders, sentAtMs: number, nowMs: number): void {
    const ofBucket = this.#shares.get(rate.bucket) ?? new Map<string, Share>();
    this.#shares.set(rate.bucket, ofBucket);
    // A gateway without its Redis names a smaller limit: its share, which it counts alone.
    const key = `${caller} ${rate.limit}`;
    const share = ofBucket.get(key) ?? newShare(caller, sentAtMs);
    ofBucket.set(key, share);
    const window = share.windows.get(rate.reset) ?? { admitted: 0, limit: 0, exhausted: 0 };
    share.windows.set(rate.reset, window);
    window.admitted += 1;
    if (rate.remaining === 0) window.exhausted += 1;
    // A reload may change the number within a window.
    window.limit = Math.max(window.limit, rate.limit);
    share.admitted += 1;
    share.limit = Math.max(share.limit, rate.limit);
    share.firstAtMs = Math.min(share.firstAtMs, sentAtMs);
    share.lastAtMs = nowMs;
    // Reset-After is rounded up to the millisecond.
    const used = rate.limit - rate.remaining;
    if (used > 0) share.stepS = Math.max(share.stepS, (rate.resetAfterS - 0.001) / used);
  }

  report(): BucketReport[] {
    return [...this.#shares].map(([bucket, shares]) => reportOf(bucket, [...shares.values()]));
  }
}

function newShare(caller: number, nowMs: number): Share {
  return { caller, windows: new Map(), admitted: 0, limit: 0, stepS: 0, firstAtMs: nowMs, lastAtMs: nowMs };
}

function reportOf(bucket: string, all: readonly Share[]): BucketReport {
  const callers = new Set(all.map(({ caller }) => caller)).size;
  const limit = Math.max(...all.map(share => share.limit));
  // Where no two responses name the same Reset, the limit is smooth, or the load too low for it to matter.
  const smooth = all.every(({ windows, admitted }) => windows.size === admitted) && limit > 1;
  // Nothing tells which of several gateways counted a smooth limit alone.
  const shares = smooth ? all.filter(share => !isPart(share, all)) : all;
  const counts = smooth ? shares.map(overTheRun) : shares.flatMap(inWindows);
  const worst = counts.reduce((one, other) =>
    other.most - other.allowed > one.most - one.allowed ? other : one,
  );
  return {
    bucket,
    callers,
    limit,
    windows: smooth ? null : counts.length,
    ...worst,
    held: worst.most <= worst.allowed,
  };
}

/** Whether the same caller had a larger limit at another time. */
function isPart(share: Share, all: readonly Share[]): boolean {
  return all.some(({ caller, limit }) => caller === share.caller && limit > share.limit);
}

/**
 * What each window admitted. A request that comes up to `window_slack` before the Reset of an exhausted window is admitted at the
 * expense of the next one, which begins at that Reset; its headers still name the old window, with nothing remaining.
 */
function inWindows({ windows }: Share) {
  const inOrder = [...windows]
    .map(([reset, window]) => ({ resetMs: Math.round(Number(reset) * 1_000), ...window }))
    .toSorted((one, other) => one.resetMs - other.resetMs);
  const gaps = inOrder.slice(1).map(({ resetMs }, i) => resetMs - (inOrder[i]?.resetMs ?? 0));
  const periodMs = Math.min(...gaps);
  let carried = 0;
  return inOrder.flatMap(({ admitted, limit, exhausted }, i) => {
    const early = Math.max(0, exhausted - 1);
    const own = { most: admitted - early + carried, allowed: limit };
    const isFollowed = gaps[i] === periodMs;
    carried = isFollowed ? early : 0;
    return isFollowed || early === 0 ? [own] : [own, { most: early, allowed: limit }];
  });
}

/** A full burst, then one each step; the slack of a smooth limit is less than one unit. */
function overTheRun({ admitted, limit, stepS, firstAtMs, lastAtMs }: Share) {
  const refilled = stepS === 0 ? Number.POSITIVE_INFINITY : (lastAtMs - firstAtMs) / 1_000 / stepS;
  return { most: admitted, allowed: Math.floor(limit + refilled) + 1 };
}

/** The headers of a response, null if it is of no bucket. `fields`: name, value, name, value. */
export function readRateHeaders(fields: readonly string[]): RateHeaders | null {
  const found = new Map<string, string>();
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i]?.toLowerCase() ?? '';
    if (name.startsWith('x-ratelimit-')) found.set(name.slice(12), fields[i + 1] ?? '');
  }
  const [limit, remaining, reset, resetAfter, bucket] = [
    'limit',
    'remaining',
    'reset',
    'reset-after',
    'bucket',
  ].map(name => found.get(name));
  if (limit === undefined || reset === undefined || bucket === undefined) return null;
  return {
    limit: Number(limit),
    remaining: Number(remaining),
    reset,
    resetAfterS: Number(resetAfter),
    bucket,
  };
}
