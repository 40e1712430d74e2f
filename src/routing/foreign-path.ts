/** What is wrong with a path written as something else than a pattern, and the nearest pattern. */
export interface ForeignPath {
  readonly why: string;
  readonly pattern: string;
}

/**
 * Recognizes a URL or a regular expression, which other gateways accept; null for anything else.
 *
 * The pattern is a guess at what was meant, and may not be valid itself.
 */
export function readForeignPath(path: string): ForeignPath | null {
  const [, rest] = /^[a-z][a-z0-9+.-]*:\/\/[^/]*(.*)$/i.exec(path) ?? [];
  if (rest !== undefined) return { why: 'a path has no scheme and host', pattern: rest === '' ? '/' : rest };
  if (!EXPRESSION.test(path)) return null;
  return { why: 'a path is not a regular expression', pattern: translate(path) };
}

/** An anchor at an end, an escaped class or dot, "or", ".*", a class with a range or a count, a group, a named pattern. */
const EXPRESSION = /^[~*=\s]*\^|\$$|\\[dDwWsS./]|\||\.[*+]|\[(?:\^|[^\]]*(?:-|\][+*{]))|\([^)]*[*+?]|\{\w+:/;

/** Translates piece by piece: anchors, groups that stand for one segment, and the rest of a path. */
function translate(expression: string): string {
  let unnamed = 0;
  const name = () => (unnamed++ === 0 ? '{name}' : `{name${unnamed}}`);
  const plain = expression
    .replace(/^[~*=\s]*\^?/, '')
    .replace(/(\/\?)?\$?$/, '')
    .replaceAll(/\\([./_-])/g, '$1')
    .replaceAll(
      /\(\?P?<([A-Za-z_]\w*)>(?:[^()[\]]|\[[^\]]*\])*\)|\{([A-Za-z_]\w*):[^/]*?\}+/g,
      (_, group, word) => `{${group ?? word}}`,
    )
    .replaceAll(/\(?(?:\[[^\]]*\]|\\[dwS])(?:[+*]|\{[\d,]*\})?\)?/g, name);
  const [, prefix = '', isPrefix] = /^(.*?)(\/?\(?\.[*+]\)?)?$/s.exec(plain) ?? [];
  const isOpen = /^[~*=\s]*\^.*[^$]$/s.test(expression);
  const path = isPrefix === undefined && !isOpen ? prefix : `${prefix}/**`;
  return (path.startsWith('/') ? path : `/${path}`).replaceAll(/\/{2,}/g, '/');
}
