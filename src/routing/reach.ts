import type { RoutePattern } from './pattern.ts';

/**
 * Which of these routes may take a request that `line` matches as well, as indices. A route that the most specific of those
 * which take all requests of the line always goes before is not among them.
 */
export function takersOf(line: RoutePattern, routes: readonly RoutePattern[]): number[] {
  const whole = routes.filter(route => pathCovers(route, line) && methodsCover(route.methods, line.methods));
  const [first, ...others] = whole;
  const best = others.reduce((a, b) => (a !== undefined && goesBefore(b, a) ? b : a), first);
  return routes.flatMap((route, index) => {
    const meets = pathsMeet(route, line) && methodsMeet(route.methods, line.methods);
    return meets && !(best !== undefined && goesBefore(best, route)) ? [index] : [];
  });
}

type Methods = RoutePattern['methods'];

function methodsMeet(a: Methods, b: Methods): boolean {
  if (a === null || b === null) return true;
  return a.some(method => takes(b, method)) || b.some(method => takes(a, method));
}

function methodsCover(outer: Methods, inner: Methods): boolean {
  if (outer === null || inner === null) return outer === null;
  return inner.every(method => takes(outer, method));
}

/** GET takes HEAD along. */
function takes(methods: readonly string[], method: string): boolean {
  return methods.includes(method) || (method === 'HEAD' && methods.includes('GET'));
}

/** Whether some path matches both. */
function pathsMeet({ segments: a }: RoutePattern, { segments: b }: RoutePattern): boolean {
  for (let i = 0; ; i++) {
    const [one, other] = [a[i], b[i]];
    if (one?.kind === 'rest' || other?.kind === 'rest') return true;
    if (one === undefined || other === undefined) return one === other;
    if (one.kind === 'literal' && other.kind === 'literal' && one.folded !== other.folded) return false;
  }
}

/** Whether every path of the second matches the first. */
function pathCovers({ segments: outer }: RoutePattern, { segments: inner }: RoutePattern): boolean {
  for (let i = 0; ; i++) {
    const [one, other] = [outer[i], inner[i]];
    if (one?.kind === 'rest') return true;
    if (one === undefined || other === undefined) return one === other;
    if (other.kind === 'rest') return false;
    if (one.kind === 'literal' && (other.kind !== 'literal' || one.folded !== other.folded)) return false;
  }
}

/** Whether the first is the route of every request that matches both, as the route table decides. */
function goesBefore(a: RoutePattern, b: RoutePattern): boolean {
  for (let i = 0; i < Math.max(a.segments.length, b.segments.length); i++) {
    const difference = rank(a, i) - rank(b, i);
    if (difference !== 0) return difference < 0;
  }
  return a.methods !== null && b.methods === null;
}

/** A literal goes before a parameter; a path that ends goes before one that goes on with anything. */
function rank({ segments }: RoutePattern, index: number): number {
  const kind = segments[index]?.kind;
  return kind === undefined ? 0 : RANK[kind];
}

const RANK = { literal: 0, parameter: 1, rest: 2 } as const;
