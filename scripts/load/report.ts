import type { LoadResult } from './run.ts';

export function describe(result: LoadResult): string {
  const { url, callers, connections, rate, seconds, responses, ok, limited, statuses, errors, timeouts } =
    result;
  const others = Object.entries(statuses).filter(([status]) => !/^(?:2\d\d|429)$/.test(status));
  const share = (count: number) => `${count}`.padStart(9) + `${percent(count, responses)}`.padStart(9);
  const rows = [
    `${url}: ${plural(callers, 'caller')}, ${plural(connections, 'connection')}, ${rate === null ? 'as many requests as it takes' : `${rate} requests per second`}`,
    '',
    `Responses  ${`${responses}`.padStart(9)}  in ${seconds.toFixed(1)} s, ${(responses / seconds).toFixed(1)} per second`,
    `  2xx      ${share(ok)}`,
    `  429      ${share(limited)}${scopes(result)}`,
    ...others.map(([status, count]) => `  ${status}      ${share(count)}`),
    `No response${`${errors + timeouts}`.padStart(9)}${errors + timeouts === 0 ? '' : `  ${errors} connection errors, ${timeouts} timeouts`}`,
    `Latency    ${latency(result)}`,
    ...limits(result),
  ];
  return `${rows.join('\n')}\n`;
}

function scopes({ limitedBy }: LoadResult): string {
  const parts = Object.entries(limitedBy).map(([scope, count]) => `${scope} ${count}`);
  return parts.length === 0 ? '' : `  by scope: ${parts.join(', ')}`;
}

function latency({ latencyMs: { p50, p90, p99, p99_9, max } }: LoadResult): string {
  return `p50 ${p50} ms, p90 ${p90} ms, p99 ${p99} ms, p99.9 ${p99_9} ms, max ${max} ms`;
}

function limits({ buckets, held, limited }: LoadResult): string[] {
  if (buckets.length === 0)
    return [
      `Limits     ${limited === 0 ? 'no response names a bucket' : 'only the global limit refused; its windows are not named'}`,
    ];
  return [
    `Limits     ${held ? 'held to the unit' : 'NOT HELD'}`,
    ...buckets.map(({ bucket, callers, limit, windows, most, allowed, held: ok }) => {
      const counted =
        windows === null
          ? `smooth, ${most} admitted of at most ${allowed}`
          : `${plural(windows, 'window')}, at most ${most} of ${allowed} admitted`;
      return `  ${bucket}  limit ${limit}, ${plural(callers, 'caller')}, ${counted}${ok ? '' : '  TOO MANY'}`;
    }),
  ];
}

/** A line while the load runs. */
export function progressLine(
  second: number,
  total: number,
  statuses: Readonly<Record<string, number>>,
): string {
  const counts = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
  return `${second} of ${total} s  ${counts.length === 0 ? 'no response yet' : counts.join('  ')}`;
}

function percent(count: number, of: number): string {
  return of === 0 ? '' : `${((100 * count) / of).toFixed(1)} %`;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
