import type { RoutePattern, Segment } from './table.ts';
import { EVERY_HOST, GRPC_METHOD, placeOf, takesMethod, wildcardOf } from './table.ts';

/**
 * Whether the first route takes precedence for every request that matches both. A host precedes a wildcard, and that precedes no
 * host. Segment by segment from the left, a literal precedes a parameter, and a parameter precedes `**`. With equal paths, a
 * route that names its methods precedes one for every method.
 */
function goesBefore(a: RoutePattern, b: RoutePattern): boolean {
  const hosts = hostRank(a) - hostRank(b);
  if (hosts !== 0) return hosts < 0;
  for (let i = 0; i < Math.max(a.segments.length, b.segments.length); i++) {
    const difference = rank(a, i) - rank(b, i);
    if (difference !== 0) return difference < 0;
  }
  return a.methods !== null && b.methods === null;
}

function hostRank({ host }: RoutePattern): number {
  if (host === EVERY_HOST) return 0;
  if (host === null) return 3;
  return host.startsWith('*') ? 2 : 1;
}

/** Lower ranks take precedence; a path that ends here precedes any that continues. */
function rank({ segments }: RoutePattern, index: number): number {
  const kind = segments[index]?.kind;
  return kind === undefined ? 0 : RANK[kind];
}

const RANK = { literal: 0, parameter: 1, tail: 2 } as const;

/** A route that no request can reach, and the more specific routes that together take all of its requests. */
interface HiddenRoute {
  readonly index: number;
  readonly hiddenBy: readonly number[];
}

/**
 * Finds routes that are completely hidden by more specific ones of the same host. Only a route that ends in `**` can be hidden,
 * by a chain without gaps such as `/a` and `/a/{x}/**`. Every other pattern has requests of its own: with a parameter value that
 * no literal names, or a method that no other route of the path names.
 */
export function findHidden(patterns: readonly RoutePattern[]): HiddenRoute[] {
  const byPlace = Map.groupBy(patterns.entries(), ([, pattern]) => placeOf(pattern));
  return patterns.flatMap((pattern, index) => {
    if (pattern.segments.at(-1)?.kind !== 'tail') return [];
    const chains = (pattern.methods ?? [null]).map(method => chainBefore(pattern, method, byPlace));
    return chains.includes(null)
      ? []
      : [{ index, hiddenBy: [...new Set(chains.flatMap(chain => chain ?? []))] }];
  });
}

const ANY_ONE: Segment = { kind: 'parameter', name: '' };

/** Returns the routes that take this method (`null` for any) with no further segment, with one, two ... and finally all; `null` at a gap. */
function chainBefore(
  pattern: RoutePattern,
  method: string | null,
  byPlace: ReadonlyMap<string, readonly (readonly [number, RoutePattern])[]>,
): readonly number[] | null {
  const taker = (segments: readonly Segment[]) =>
    byPlace.get(placeOf({ ...pattern, segments }))?.find(([, { methods }]) => takes(methods, method))?.[0];
  const prefix = pattern.segments.slice(0, -1);
  const chain: number[] = [];
  for (;;) {
    const exact = taker(prefix);
    if (exact === undefined) return null;
    prefix.push(ANY_ONE);
    const tail = taker([...prefix, { kind: 'tail' }]);
    chain.push(exact);
    if (tail !== undefined) return [...chain, tail];
  }
}

function takes(methods: readonly string[] | null, method: string | null): boolean {
  if (methods === null) return true;
  return method !== null && takesMethod(methods, method);
}

/** Finds the routes that serve the requests of a line in limits.yaml. */
export class Reach {
  readonly #routes: readonly RoutePattern[];
  readonly #candidates: RouteCandidates;

  constructor(routes: readonly RoutePattern[]) {
    this.#routes = routes;
    this.#candidates = new RouteCandidates(routes);
  }

  /**
   * Returns the indices of routes that may take a request that `line` matches. Omits those that can never win: the ones after the
   * most specific route that takes all requests of the line.
   */
  takersOf(line: RoutePattern): number[] {
    const met = this.#candidates.overlapping(line).flatMap(index => {
      const route = this.#routes[index];
      return route !== undefined &&
        (hostCovers(route.host, line.host) || hostCovers(line.host, route.host)) &&
        methodsMeet(route.methods, line.methods)
        ? [{ route, index }]
        : [];
    });
    const [first, ...others] = met.filter(
      ({ route }) =>
        hostCovers(route.host, line.host) &&
        pathCovers(route, line) &&
        methodsCover(route.methods, line.methods),
    );
    const best = others.reduce((a, b) => (a !== undefined && goesBefore(b.route, a.route) ? b : a), first);
    return met
      .filter(({ route }) => best === undefined || !goesBefore(best.route, route))
      .map(({ index }) => index);
  }
}

type Host = RoutePattern['host'];

/** Whether the first pattern matches every host that the second does. */
function hostCovers(outer: Host, inner: Host): boolean {
  if (outer === null || outer === EVERY_HOST || outer === inner) return true;
  return inner !== null && outer === wildcardOf(inner);
}

type Methods = RoutePattern['methods'];

/** Whether two lists of methods share one. `null` is every HTTP method, but no gRPC call. */
export function methodsMeet(a: Methods, b: Methods): boolean {
  if (a === null || b === null) return [...(a ?? []), ...(b ?? [])].every(method => method !== GRPC_METHOD);
  return a.some(method => takesMethod(b, method)) || b.some(method => takesMethod(a, method));
}

/** Whether the first list has all methods of the second. The two must share one (`methodsMeet`). */
function methodsCover(outer: Methods, inner: Methods): boolean {
  if (outer === null) return true;
  if (inner === null) return false;
  return inner.every(method => takesMethod(outer, method));
}

/** Whether the first pattern matches every path that the second does. */
export function pathCovers({ segments: outer }: RoutePattern, { segments: inner }: RoutePattern): boolean {
  for (let i = 0; ; i++) {
    const [one, other] = [outer[i], inner[i]];
    if (one?.kind === 'tail') return true;
    if (one === undefined || other === undefined) return one === other;
    if (other.kind === 'tail') return false;
    if (one.kind === 'literal' && (other.kind !== 'literal' || one.folded !== other.folded)) return false;
  }
}

/** A common prefix of patterns, segment by segment. */
interface Node {
  readonly literals: Map<string, Node>;
  parameter: Node | null;
  /** Routes that end here, by index. */
  readonly ends: number[];
  /** Routes that end in `**` here. */
  readonly tails: number[];
}

/** Finds the routes whose paths overlap with a pattern's, without checking each: files may have ten thousand of both. */
export class RouteCandidates {
  readonly #root = newNode();

  constructor(routes: readonly RoutePattern[]) {
    for (const [index, { segments }] of routes.entries()) this.#add(segments, index);
  }

  /** Returns the indices, in order, of all routes that share at least one path with `pattern`. */
  overlapping({ segments }: RoutePattern): number[] {
    const found: number[] = [];
    collect(this.#root, segments, 0, found);
    return found.sort((a, b) => a - b);
  }

  #add(segments: readonly Segment[], index: number): void {
    let node = this.#root;
    for (const segment of segments) {
      if (segment.kind === 'tail') {
        node.tails.push(index);
        return;
      }
      node = segment.kind === 'literal' ? literalAfter(node, segment.folded) : parameterAfter(node);
    }
    node.ends.push(index);
  }
}

function collect(node: Node, segments: readonly Segment[], at: number, found: number[]): void {
  for (const index of node.tails) found.push(index);
  const segment = segments[at];
  const all = segment?.kind === 'tail';
  if (all || segment === undefined) for (const index of node.ends) found.push(index);
  if (segment === undefined) return;
  for (const next of nodesAfter(node, segment)) collect(next, segments, all ? at : at + 1, found);
}

/** Returns the nodes that a segment leads to: all for `**` and a parameter; its own and the parameter's for a literal. */
function nodesAfter({ literals, parameter }: Node, segment: Segment): Node[] {
  const others = parameter === null ? [] : [parameter];
  if (segment.kind !== 'literal') return [...literals.values(), ...others];
  const literal = literals.get(segment.folded);
  return literal === undefined ? others : [literal, ...others];
}

function newNode(): Node {
  return { literals: new Map(), parameter: null, ends: [], tails: [] };
}

function literalAfter(node: Node, folded: string): Node {
  const next = node.literals.get(folded) ?? newNode();
  node.literals.set(folded, next);
  return next;
}

function parameterAfter(node: Node): Node {
  node.parameter ??= newNode();
  return node.parameter;
}
