import type { RoutePattern } from '../routing/index.ts';

/** A word of a route that the log does not tell from values. */
export interface Unanswered {
  /** The path as written in limits.yaml, without its methods. */
  readonly path: string;
  readonly word: string;
  /** Requests that the route may take. */
  readonly requests: number;
}

const VALUE = '{}';

/**
 * Finds what a replay cannot answer: the log shows those words of a path that were configured when it was written, and a
 * pseudonym in place of any other. So a new word may hide behind a pseudonym.
 *
 * @param shapes requests by method and path, with `{}` for each pseudonym
 */
export function findUnanswered(
  patterns: readonly RoutePattern[],
  shapes: ReadonlyMap<string, number>,
): Unanswered[] {
  const seen: Set<string>[] = [];
  const split = [...shapes].map(([shape, requests]) => {
    const space = shape.indexOf(' ');
    const segments = shape.slice(space + 2).split('/');
    segments.forEach((segment, at) => {
      seen[at] ??= new Set();
      seen[at].add(segment);
    });
    return { method: shape.slice(0, space), segments, requests };
  });
  return patterns.flatMap(({ path, methods, segments }) => {
    const isNew = (at: number, word: string) => seen[at]?.has(word) !== true;
    const at = segments.findIndex((each, i) => each.kind === 'literal' && isNew(i, each.folded));
    const word = segments[at];
    if (word?.kind !== 'literal') return [];
    const takes = (shape: (typeof split)[number]) =>
      (methods === null || methods.includes(shape.method)) && mayTake(segments, shape.segments, isNew);
    const requests = split.reduce((sum, shape) => sum + (takes(shape) ? shape.requests : 0), 0);
    return requests === 0 ? [] : [{ path, word: word.folded, requests }];
  });
}

function mayTake(
  pattern: RoutePattern['segments'],
  path: readonly string[],
  isNew: (at: number, word: string) => boolean,
): boolean {
  const hasRest = pattern.at(-1)?.kind === 'tail';
  const fixed = hasRest ? pattern.length - 1 : pattern.length;
  const length = path.at(-1) === '' ? path.length - 1 : path.length;
  if (hasRest ? length < fixed : length !== fixed) return false;
  return pattern.slice(0, fixed).every((each, at) => {
    if (each.kind !== 'literal') return true;
    return path[at] === each.folded || (path[at] === VALUE && isNew(at, each.folded));
  });
}
