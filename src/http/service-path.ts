/** How the paths of a route become those of its service. */
export interface PathChange {
  /** How many segments are taken away from the front of each path: whole ones, as they matched. 0: none. */
  readonly strippedSegments: number;
  /** These segments as the configuration spells them, such as `/api`; '' if there are none. */
  readonly strippedPrefix: string;
}

/**
 * Returns the path that a service is sent for a canonical path: without its first segments, behind the base of the service's URL.
 * Canonical again: a path is cut only at a slash, and a base is canonical and ends without one.
 */
export function servicePath(path: string, { strippedSegments }: PathChange, base: string): string {
  const rest = strippedSegments === 0 ? path : withoutSegments(path, strippedSegments);
  return base === '' ? rest : base + rest;
}

/** A path of no further segments leaves the root. */
function withoutSegments(path: string, count: number): string {
  let at = 0;
  for (let left = count; left > 0 && at !== -1; left--) at = path.indexOf('/', at + 1);
  return at === -1 ? '/' : path.slice(at);
}
