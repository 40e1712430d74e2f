import { escapeInvisible } from '../../core/index.ts';
import type { gatherStatus } from './gather-status.ts';

export type { CallerName } from './gather-status.ts';

export type GatewayStatus = ReturnType<typeof gatherStatus>;
export type BucketStatus = GatewayStatus['buckets'][number];
export type CallersStatus = NonNullable<GatewayStatus['callers']>;

/** The status for programs: times become ISO 8601, under names without `Ms`. */
export function statusAsJson(status: GatewayStatus): string {
  return `${escapeInvisible(JSON.stringify(withDates(status), null, 2))}\n`;
}

function withDates(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDates);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const isMoment = /(?:[aA]t|since|until|AsOf|notAfter|[nN]otBefore)Ms$/.test(name);
      if (!isMoment) return [name, withDates(member)];
      return [name.slice(0, -2), typeof member === 'number' ? isoTime(member) : null];
    }),
  );
}

export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
