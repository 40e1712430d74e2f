/** One piece of a pattern between two slashes. */
export type Segment =
  /** Matches one segment of a path; `folded` is what `foldSegment` makes of it. */
  | { readonly kind: 'literal'; readonly folded: string }
  /** `{name}`: any one segment. */
  | { readonly kind: 'parameter'; readonly name: string }
  /** `**`: all segments that follow, or none. */
  | { readonly kind: 'rest' };

/**
 * What a literal segment is compared by: percent-decoded and with its ASCII letters in lower case, so that a backend which
 * reads `Things%3Aall` as `things:all` cannot be reached past the route of the latter. Null for what is not UTF-8: it equals
 * no literal.
 *
 * Folded before it is decoded, while all of it is ASCII: Unicode has letters whose lower case is an ASCII one (U+212A KELVIN
 * SIGN is `k`), and to a backend `/%E2%84%AAeys` is another path than `/keys`.
 */
export function foldSegment(canonical: string): string | null {
  const folded = canonical.toLowerCase();
  if (!folded.includes('%')) return folded;
  try {
    return decodeURIComponent(folded);
  } catch {
    return null;
  }
}

/** What comes before the first `;` or `%3B`: some backends cut a segment there, so that is what literals are compared with. */
export function withoutParameters(canonical: string): string {
  const plain = canonical.indexOf(';');
  const escaped = canonical.indexOf('%3B');
  if (plain === -1 && escaped === -1) return canonical;
  return canonical.slice(0, Math.min(...[plain, escaped].filter(at => at !== -1)));
}

/** Two patterns of one shape match the same paths: only the names of their parameters and their spelling differ. */
export function shapeOf(segments: readonly Segment[]): string {
  // The "=" keeps a literal apart from the two signs, whatever its escapes decode to; none decodes to a slash.
  return segments
    .map(segment => (segment.kind === 'literal' ? `=${segment.folded}` : SHAPE_SIGN[segment.kind]))
    .join('/');
}

const SHAPE_SIGN = { parameter: '{}', rest: '**' } as const;
