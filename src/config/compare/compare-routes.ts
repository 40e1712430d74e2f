import { formatDuration } from '../../core/index.ts';
import type { RouteEntry } from '../../routing/index.ts';
import type { ForwardRoute } from '../model/index.ts';
import { formatSize } from '../schema/index.ts';
import type { WeighedChange } from './change.ts';
import { joined } from './compare-buckets.ts';
import { compareSizes, type Difference, someOf } from './compare-values.ts';
import { movesBetween } from './probe.ts';

export type Routes = readonly RouteEntry<ForwardRoute>[];

/** Compares which requests the routes of gateway.yaml take, and their policies. */
export function compareRoutes(now: Routes, before: Routes): WeighedChange[] {
  const policies = new Map(
    [...now, ...before].map(({ value }) => [value, JSON.stringify(policiesOf(value))]),
  );
  const moves = movesBetween(now, before, (route, pattern) =>
    isNamed(route, pattern) ? (policies.get(route) ?? '') : `${policies.get(route)} ${route.id}`,
  );
  return moves.flatMap(({ labels, now: to, before: from }) => {
    const differences = compareTaken(to, from, labels);
    return differences.length === 0 ? [] : [{ subject: someOf(labels), ...joined(differences) }];
  });
}

function isNamed({ id }: ForwardRoute, pattern: string): boolean {
  return id === pattern;
}

function compareTaken(
  to: ForwardRoute | null,
  from: ForwardRoute | null,
  labels: readonly string[],
): Difference[] {
  if (to === null) return from === null ? [] : [differ('stricter', 'no route takes it any more: 404', 0)];
  if (from === null) return [differ('looser', `served by ${to.upstream.name}, before 404`)];
  const other =
    to.id !== from.id && !labels.includes(to.id) ? [differ('neutral', `by the route "${to.id}"`)] : [];
  const policies = comparePolicies(to, from);
  return policies.length === 0 ? [] : [...other, ...policies];
}

/** What makes a difference to callers. */
function policiesOf({ pool: _, parameters: __, kind: ___, id: ____, upstream, ...policies }: ForwardRoute) {
  const { websocket, ...others } = policies;
  return { upstream: upstream.name, websocket: websocket === null ? null : websocket.idleMs, ...others };
}

const TOKENS = ['none', 'optional', 'required'] as const;

function comparePolicies(now: ForwardRoute, before: ForwardRoute): Difference[] {
  const [needs, needed] = [now, before].map(({ authentication }) => TOKENS.indexOf(authentication));
  const differences: (Difference | null)[] = [
    now.upstream.name === before.upstream.name
      ? null
      : differ('neutral', `upstream ${now.upstream.name}, before ${before.upstream.name}`),
    compareSizes(
      needed ?? 0,
      needs ?? 0,
      `authentication ${now.authentication}, before ${before.authentication}`,
    ),
    compareYes(now.closeAtExpiry, before.closeAtExpiry, 'responses end with their token'),
    compareTimes('introspection', now.introspectionMs, before.introspectionMs),
    compareYes(!now.globalLimitExempt, !before.globalLimitExempt, 'the global limit applies'),
    compareYes(now.webhook, before.webhook, 'its 404s are counted as those of a webhook'),
    compareYes(now.semicolons === 'refuse', before.semicolons === 'refuse', 'refuses semicolons'),
    compareYes(now.websocket === null, before.websocket === null, 'serves no WebSockets'),
    compareTimes('websocket_idle', now.websocket?.idleMs ?? null, before.websocket?.idleMs ?? null),
    compareBytes('max_body', now.body.maxBytes, before.body.maxBytes),
    compareRates(now.body.minBytesPerS, before.body.minBytesPerS),
    compareTimes('first_byte', now.firstByteTimeoutMs, before.firstByteTimeoutMs),
    compareTimes('idle', now.idleTimeoutMs, before.idleTimeoutMs),
    now.cors === before.cors ? null : differ('neutral', `cors ${now.cors}, before ${before.cors}`),
    now.upstream429 === before.upstream429
      ? null
      : differ('neutral', `upstream_429 ${now.upstream429}, before ${before.upstream429}`),
  ];
  return differences.filter(difference => difference !== null);
}

function differ(effect: Difference['effect'], text: string, left = 1): Difference {
  return { effect, left, text };
}

/** @param what the stricter of two ways */
function compareYes(now: boolean, before: boolean, what: string): Difference | null {
  if (now === before) return null;
  return now ? differ('stricter', what, 0) : differ('looser', `no longer: ${what}`);
}

/** Null: any time. */
function compareTimes(key: string, now: number | null, before: number | null): Difference | null {
  const describe = (ms: number | null) => (ms === null ? 'off' : formatDuration(ms));
  return compareSizes(upTo(now), upTo(before), `${key} ${describe(now)}, before ${describe(before)}`);
}

function compareBytes(key: string, now: number | null, before: number | null): Difference | null {
  const describe = (bytes: number | null) => (bytes === null ? 'any' : formatSize(bytes));
  return compareSizes(upTo(now), upTo(before), `${key} ${describe(now)}, before ${describe(before)}`);
}

/** A higher rate is the stricter one. Null: any. */
function compareRates(now: number | null, before: number | null): Difference | null {
  const describe = (bytes: number | null) => (bytes === null ? 'off' : `${formatSize(bytes)}/s`);
  return compareSizes(before ?? 0, now ?? 0, `min_body_rate ${describe(now)}, before ${describe(before)}`);
}

function upTo(max: number | null): number {
  return max ?? Number.POSITIVE_INFINITY;
}
