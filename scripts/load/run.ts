import autocannon from 'autocannon';
import { type BucketReport, LimitWatch, readRateHeaders } from './limit-watch.ts';
import type { LoadOptions } from './options.ts';

export interface Second {
  ok: number;
  limited: number;
  other: number;
}

export interface LoadResult {
  readonly url: string;
  readonly callers: number;
  readonly connections: number;
  readonly rate: number | null;
  readonly seconds: number;
  readonly responses: number;
  readonly ok: number;
  readonly limited: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** 429s by the X-RateLimit-Scope of whose limit it was. */
  readonly limitedBy: Readonly<Record<string, number>>;
  /** Connections that failed, and requests without a response in time. */
  readonly errors: number;
  readonly timeouts: number;
  readonly latencyMs: Readonly<Record<'p50' | 'p90' | 'p99' | 'p99_9' | 'max', number>>;
  readonly buckets: readonly BucketReport[];
  /** Whether no limit admitted too much. */
  readonly held: boolean;
  readonly timeline: readonly Second[];
}

/** Counts what comes back. */
class Tally {
  readonly statuses: Record<string, number> = {};
  readonly limitedBy: Record<string, number> = {};
  readonly timeline: Second[] = [];
  readonly limits = new LimitWatch();
  readonly #startedAtMs = performance.now();

  note(caller: number, status: number, fields: readonly string[], tookMs: number): void {
    const nowMs = performance.now();
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    const second = this.#secondAt(nowMs);
    if (status === 429) {
      second.limited += 1;
      const at = fields.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'x-ratelimit-scope');
      const scope = at === -1 ? 'unknown' : (fields[at + 1] ?? '');
      this.limitedBy[scope] = (this.limitedBy[scope] ?? 0) + 1;
      return;
    }
    if (status >= 200 && status < 300) second.ok += 1;
    else second.other += 1;
    const rate = readRateHeaders(fields);
    if (rate !== null) this.limits.admitted(caller, rate, nowMs - tookMs, nowMs);
  }

  #secondAt(nowMs: number): Second {
    const index = Math.floor((nowMs - this.#startedAtMs) / 1_000);
    while (this.timeline.length <= index) this.timeline.push({ ok: 0, limited: 0, other: 0 });
    return this.timeline[index] ?? { ok: 0, limited: 0, other: 0 };
  }
}

/** Sends the load. `progress` is called each second with what has come so far. */
export async function runLoad(
  options: LoadOptions,
  progress: (second: number, statuses: Readonly<Record<string, number>>) => void,
): Promise<LoadResult> {
  const { url, tokens, rate, seconds, connections, method, body, headers, timeoutSeconds } = options;
  const callers = Math.max(1, tokens.length);
  const tally = new Tally();
  let connection = 0;
  const run = autocannon({
    url,
    method,
    ...(body !== null && { body }),
    headers,
    connections,
    duration: seconds,
    timeout: timeoutSeconds,
    ...(rate !== null && { overallRate: rate }),
    setupClient: client => {
      const caller = connection++ % callers;
      const token = tokens[caller];
      if (token !== undefined) client.setHeaders({ ...headers, Authorization: `Bearer ${token}` });
      let fields: readonly string[] = [];
      client.on('headers', head => {
        fields = head.headers;
      });
      client.on('response', (status, _bytes, tookMs) => tally.note(caller, status, fields, tookMs));
    },
  });
  let second = 0;
  run.on('tick', () => progress(++second, tally.statuses));
  const ended = await run;
  const count = (wanted: (status: number) => boolean): number =>
    Object.entries(tally.statuses).reduce(
      (sum, [status, times]) => sum + (wanted(Number(status)) ? times : 0),
      0,
    );
  const buckets = tally.limits.report();
  const { p50, p90, p99, p99_9, max } = ended.latency;
  return {
    url,
    callers,
    connections,
    rate,
    seconds: ended.duration,
    responses: count(() => true),
    ok: count(status => status >= 200 && status < 300),
    limited: tally.statuses['429'] ?? 0,
    statuses: tally.statuses,
    limitedBy: tally.limitedBy,
    errors: ended.errors - ended.timeouts,
    timeouts: ended.timeouts,
    latencyMs: { p50, p90, p99, p99_9, max },
    buckets,
    held: buckets.every(({ held }) => held),
    timeline: tally.timeline,
  };
}
