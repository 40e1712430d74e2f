import type { Steps } from '../../core/index.ts';
import type { Difference, WeighedChange } from '../difference.ts';
import { compareNeutral, differ, joined, someOf } from '../difference.ts';
import type { RouteOfFile } from '../model/index.ts';
import { compareAnswers, comparePolicies, describeAnswer } from '../policies/index.ts';
import { GRPC_METHOD, nameOf, type RouteEntry, type RoutePattern, RouteTable } from '../routing/index.ts';

type RouteEntries = readonly RouteEntry<RouteOfFile>[];

/** Compares which requests the routes of gateway.yaml match, and their policies. */
export function* compareRoutes(now: RouteEntries, before: RouteEntries): Steps<WeighedChange[]> {
  const isNothingNew = areSame(now, before);
  yield;
  if (isNothingNew) return [];
  const policies = new Map<RouteOfFile, string>();
  for (const { value } of [...now, ...before]) {
    policies.set(value, JSON.stringify(policiesOf(value)));
    yield;
  }
  const moves = yield* movesBetween(now, before, (route, pattern) =>
    route.id === pattern ? (policies.get(route) ?? '') : `${policies.get(route)} ${route.id}`,
  );
  return moves.flatMap(({ labels, now: to, before: from }) => {
    const differences = compareTaken(to, from, labels);
    return differences.length === 0 ? [] : [{ subject: someOf(labels), ...joined(differences) }];
  });
}

function areSame(now: RouteEntries, before: RouteEntries): boolean {
  return (
    now.length === before.length &&
    now.every(
      ({ value, pattern }, index) => value === before[index]?.value && pattern === before[index].pattern,
    )
  );
}

function compareTaken(
  to: RouteOfFile | null,
  from: RouteOfFile | null,
  labels: readonly string[],
): Difference[] {
  if (to === null) return from === null ? [] : [differ('stricter', 'no route takes it any more: 404', 0)];
  if (from === null) return [differ('looser', `${servedBy(to)}, before 404`)];
  const other =
    to.id !== from.id && !labels.includes(to.id) ? [differ('neutral', `by the route "${to.id}"`)] : [];
  const target = compareTargets(to, from);
  const changes = [
    ...(target === null ? [] : [target]),
    ...comparePolicies(to, from, to.kind === 'forward' && from.kind === 'forward'),
  ];
  return changes.length === 0 ? [] : [...other, ...changes];
}

function compareTargets(to: RouteOfFile, from: RouteOfFile): Difference | null {
  if (to.kind === 'answer' && from.kind === 'answer') return compareAnswers(to.answer, from.answer);
  if (to.kind === 'forward' && from.kind === 'forward')
    return compareNeutral('upstream', upstreamsOf(to), upstreamsOf(from));
  return differ('mixed', `${servedBy(to)}, before ${servedBy(from)}`);
}

function servedBy(route: RouteOfFile): string {
  return route.kind === 'answer'
    ? `answered with ${describeAnswer(route.answer)}`
    : `served by ${upstreamsOf(route)}`;
}

/** Names the upstream, or all of them with their shares: `api 95%, api-next 5%`. */
function upstreamsOf({ upstream, shares }: Extract<RouteOfFile, { kind: 'forward' }>): string {
  if (shares === null) return upstream.name;
  return shares.map(({ percent, route }) => `${route.upstream.name} ${percent}%`).join(', ');
}

/** The parts that matter to callers: what serves the requests, and the policies. */
function policiesOf(route: RouteOfFile): object {
  const policies = Object.entries(route).filter(([key]) => !NO_POLICIES.has(key));
  return { ...Object.fromEntries(policies), upstream: route.kind === 'answer' ? null : upstreamsOf(route) };
}

const NO_POLICIES: ReadonlySet<string> = new Set(['kind', 'id', 'parameters', 'pool', 'shares']);

interface Probe {
  /** The pattern for display, with the method if only some methods differ. */
  readonly label: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Makes a request for each method that a pattern matches, or for each common method if it matches all. */
function probesOf(pattern: RoutePattern): Probe[] {
  const { methods, host, path } = pattern;
  // No literal of a pattern is a name in braces: patterns write braces as %7B and %7D.
  const sample = path.replace('**', '{rest}');
  return (methods ?? METHODS).map(method => ({
    label: nameOf({ ...pattern, methods: [method] }),
    method,
    // The wildcard `*.example.com` finds its own pattern: it is looked up like a host that no other pattern names.
    host: host ?? '',
    path: method === GRPC_METHOD ? `/${sample.replace('/*', '/{method}')}` : sample,
  }));
}

/** Requests that move from one value to another; `null`: no value. */
export interface Move<T> {
  readonly labels: readonly string[];
  readonly now: T | null;
  readonly before: T | null;
}

type Entries<T> = readonly RouteEntry<T>[];

/**
 * Looks up the requests of every pattern in both tables, and collects those that move from one value to another. Paths that combine
 * literals and parameters of several patterns have no probe, but the values for them also appear with other probes.
 *
 * @param keyOf distinguishes values; gets the pattern that the request represents
 */
export function* movesBetween<T>(
  now: Entries<T>,
  before: Entries<T>,
  keyOf: (value: T, pattern: string) => string,
): Steps<Move<T>[]> {
  const tableNow = yield* RouteTable.inSteps(now);
  const tableBefore = yield* RouteTable.inSteps(before);
  const told = new Set<string>();
  const moves = new Map<string, { labels: string[]; now: T | null; before: T | null }>();
  const patterns = new Map([...before, ...now].map(({ pattern }) => [nameOf(pattern), pattern]));
  for (const [name, pattern] of patterns) {
    yield;
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

/** Merges requests of several methods under their pattern if all of them change in the same way. */
function asOne<Step extends { readonly label: string; readonly key: string }>(
  steps: readonly Step[],
  label: string,
): readonly Step[] {
  const [first] = steps;
  return first !== undefined && steps.every(({ key }) => key === first.key) ? [{ ...first, label }] : steps;
}
