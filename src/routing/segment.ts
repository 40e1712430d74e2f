/** The part of a pattern between two slashes. */
export type Segment =
  /** Matches one segment of a path; `folded` comes from `foldSegment`. */
  | { readonly kind: 'literal'; readonly folded: string }
  /** `{name}`: any one segment. */
  | { readonly kind: 'parameter'; readonly name: string }
  /** `**`: all segments that follow, or none. */
  | { readonly kind: 'rest' };

/**
 * The form in which literal segments are compared: percent-decoded, with ASCII letters in lower case. So a backend that reads
 * `Things%3Aall` as `things:all` cannot be reached around the route for the latter. Null if it is not UTF-8, which equals no
 * literal.
 *
 * Lower-cases before decoding, while everything is ASCII: Unicode has letters whose lower case is ASCII (U+212A KELVIN SIGN
 * becomes `k`), and to a backend `/%E2%84%AAeys` is not `/keys`.
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

/** The part before the first `;` or `%3B`, where some backends cut a segment; literals are compared with that. */
export function withoutParameters(canonical: string): string {
  const plain = canonical.indexOf(';');
  const escaped = canonical.indexOf('%3B');
  if (plain === -1 && escaped === -1) return canonical;
  return canonical.slice(0, Math.min(...[plain, escaped].filter(at => at !== -1)));
}

/** Patterns of the same shape match the same paths: only spelling and parameter names differ. */
export function shapeOf(segments: readonly Segment[]): string {
  // The "=" tells literals from the two signs, whatever their escapes decode to. None decodes to a slash.
  return segments
    .map(segment => (segment.kind === 'literal' ? `=${segment.folded}` : SHAPE_SIGN[segment.kind]))
    .join('/');
}

const SHAPE_SIGN = { parameter: '{}', rest: '**' } as const;
