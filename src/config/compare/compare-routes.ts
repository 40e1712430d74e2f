import { formatDuration } from '../../core/index.ts';
import { GRPC_METHOD, type RouteEntry, type RoutePattern, RouteTable } from '../../routing/index.ts';
import type { ForwardRoute } from '../model/index.ts';
import { formatSize } from '../values/index.ts';
import type { WeighedChange } from './change.ts';
import { joined } from './compare-buckets.ts';
import { compareSizes, type Difference, someOf } from './compare-values.ts';

type RouteEntries = readonly RouteEntry<ForwardRoute>[];

/** Compares which requests the routes of gateway.yaml take, and their policies. */
export function compareRoutes(now: RouteEntries, before: RouteEntries): WeighedChange[] {
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

/** A request that stands for those that a pattern matches. */
interface Probe {
  /** As people read it: the pattern, with the method if only some methods are meant. */
  readonly label: string;
  readonly method: string;
  readonly path: string;
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** A request for each method that a pattern takes; for each common one, if it takes all. */
function probesOf({ methods, path }: RoutePattern): Probe[] {
  // A name in braces is no literal of any pattern: those write them as %7B and %7D.
  const sample = path.replace('**', '{rest}');
  return (methods ?? METHODS).map(method => ({
    label: `${method} ${path}`,
    method,
    path: method === GRPC_METHOD ? `/${sample.replace('/*', '/{method}')}` : sample,
  }));
}

/** What the same requests lead to now and led to before; null: to nothing. */
export interface Move<T> {
  readonly labels: readonly string[];
  readonly now: T | null;
  readonly before: T | null;
}

type Entries<T> = readonly RouteEntry<T>[];

/**
 * Follows the requests of every pattern through both tables, and gathers those that lead from one value to another. Literals and
 * parameters of several patterns may combine to paths that no probe has; what they lead to is in the list as well, by itself.
 *
 * @param keyOf tells values apart; gets the pattern that the request stands for
 */
export function movesBetween<T>(
  now: Entries<T>,
  before: Entries<T>,
  keyOf: (value: T, pattern: string) => string,
): Move<T>[] {
  const [tableNow, tableBefore] = [new RouteTable(now), new RouteTable(before)];
  const told = new Set<string>();
  const moves = new Map<string, { labels: string[]; now: T | null; before: T | null }>();
  const patterns = new Map([...before, ...now].map(({ pattern }) => [labelOf(pattern), pattern]));
  for (const [name, pattern] of patterns) {
    const steps = probesOf(pattern).map(({ label, method, path }) => {
      const to = tableNow.find(method, path)?.value ?? null;
      const from = tableBefore.find(method, path)?.value ?? null;
      return { label, to, from, key: JSON.stringify([to && keyOf(to, name), from && keyOf(from, name)]) };
    });
    for (const { label, to, from, key } of asOne(steps, name)) {
      if (told.has(label)) continue;
      told.add(label);
      const move = moves.get(key) ?? { labels: [], now: to, before: from };
      move.labels.push(label);
      moves.set(key, move);
    }
  }
  return [...moves.values()];
}

/** Names requests of several methods by their pattern if all of them move alike. */
function asOne<Step extends { readonly label: string; readonly key: string }>(
  steps: readonly Step[],
  label: string,
): readonly Step[] {
  const [first] = steps;
  return first !== undefined && steps.every(({ key }) => key === first.key) ? [{ ...first, label }] : steps;
}

/** Names a pattern as the operator writes it in limits.yaml. */
function labelOf({ methods, path }: RoutePattern): string {
  return methods === null ? path : `${methods.join(',')} ${path}`;
}
