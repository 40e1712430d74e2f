import { GRPC_METHOD, nameOf, type RouteEntry, type RoutePattern, RouteTable } from '../../routing/index.ts';
import type { Difference, WeighedChange } from '../difference.ts';
import { compareNeutral, differ, joined, someOf } from '../difference.ts';
import type { ForwardRoute } from '../model/index.ts';
import { comparePolicies } from '../policies/index.ts';

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
  const upstream = compareNeutral('upstream', to.upstream.name, from.upstream.name);
  const changes = [...(upstream === null ? [] : [upstream]), ...comparePolicies(to, from)];
  return changes.length === 0 ? [] : [...other, ...changes];
}

/** What makes a difference to callers: the upstream and the policies. */
function policiesOf({ pool: _, parameters: __, kind: ___, id: ____, upstream, ...policies }: ForwardRoute) {
  return { upstream: upstream.name, ...policies };
}

/** A request that stands for those that a pattern matches. */
interface Probe {
  /** The pattern as people read it, with the method if only some methods are meant. */
  readonly label: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Makes a request for each method that a pattern takes; for each common method if it takes all. */
function probesOf(pattern: RoutePattern): Probe[] {
  const { methods, host, path } = pattern;
  // A name in braces is no literal of any pattern: those write them as %7B and %7D.
  const sample = path.replace('**', '{rest}');
  return (methods ?? METHODS).map(method => ({
    label: nameOf({ ...pattern, methods: [method] }),
    method,
    // A pattern with a star is found by its name, as any host that no other names.
    host: host ?? '',
    path: method === GRPC_METHOD ? `/${sample.replace('/*', '/{method}')}` : sample,
  }));
}

/** Requests that lead from one value to another; `null` is no value. */
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
  const patterns = new Map([...before, ...now].map(({ pattern }) => [nameOf(pattern), pattern]));
  for (const [name, pattern] of patterns) {
    const steps = probesOf(pattern).map(({ label, method, host, path }) => {
      const to = tableNow.find(method, host, path)?.value ?? null;
      const from = tableBefore.find(method, host, path)?.value ?? null;
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
