import fc from 'fast-check';

/** A route as an operator writes it. */
export interface WrittenRoute {
  readonly path: string;
  readonly methods: readonly string[] | null;
}

/** The index of the route that takes the request by the rule of precedence, by trying all; the second opinion for RouteTable. */
export function referenceFind(routes: readonly WrittenRoute[], method: string, path: string): number | null {
  const candidates = routes
    .map((route, index) => ({
      index,
      rank: `${pathRank(route.path)} ${methodRank(route.methods, method)}`,
      route,
    }))
    .filter(({ route }) => methodRank(route.methods, method) !== null && pathMatches(route.path, path))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return candidates[0]?.index ?? null;
}

/** The segments of the path where the pattern has its parameters. */
export function referenceParams(pattern: string, path: string): string[] {
  const values = segmentsOf(path);
  return segmentsOf(pattern).flatMap((segment, i) => (segment.startsWith('{') ? [values[i] ?? ''] : []));
}

function segmentsOf(path: string): string[] {
  return path
    .replace(/\/(?:(?:;|%3B)[^/]*)?$/, '')
    .split('/')
    .slice(1);
}

function pathMatches(pattern: string, path: string): boolean {
  const values = segmentsOf(path);
  const segments = segmentsOf(pattern);
  const hasRest = segments.at(-1) === '**';
  if (hasRest) segments.pop();
  if (hasRest ? values.length < segments.length : values.length !== segments.length) return false;
  return segments.every((segment, i) => segment.startsWith('{') || fold(segment) === fold(values[i] ?? ''));
}

/** Sorts the more specific path first: segment by segment a literal, a parameter, the end, the rest. */
function pathRank(pattern: string): string {
  const ranks = segmentsOf(pattern).map(segment =>
    segment === '**' ? '3' : segment.startsWith('{') ? '1' : '0',
  );
  return ranks.at(-1) === '3' ? ranks.join('') : `${ranks.join('')}2`;
}

function methodRank(methods: readonly string[] | null, method: string): number | null {
  if (methods === null) return 2;
  if (methods.includes(method)) return 0;
  return method === 'HEAD' && methods.includes('GET') ? 1 : null;
}

function fold(segment: string): string {
  try {
    const decoded = decodeURIComponent(segment.replace(/(?:;|%3B).*/s, ''));
    return decoded.replace(/[A-Z]/g, letter => String.fromCharCode(letter.charCodeAt(0) + 32));
  } catch {
    return `not UTF-8: ${segment}`;
  }
}

const literal = fc.constantFrom('a', 'b', 'B', 'k', 'a:b', 'a%3Ab', '%C3%A9', '%C3%89', '%25');
const wordOfPath = fc.constantFrom(
  'a',
  'A',
  'b',
  'A%3Ab',
  'a:b',
  '%C3%A9',
  'K',
  '%E2%84%AA',
  '%25',
  'zz',
  '%FF',
  'a;x',
  'B%3Bx;y',
);

const methods = fc.option(fc.uniqueArray(fc.constantFrom('GET', 'HEAD', 'POST'), { minLength: 1 }), {
  freq: 2,
});

/** Routes over so few words that they often meet on a path. */
export const writtenRoute: fc.Arbitrary<WrittenRoute> = fc.record({
  path: fc
    .tuple(fc.array(fc.option(literal, { nil: null }), { maxLength: 4 }), fc.boolean(), fc.boolean())
    .map(([words, rest, slash]) => {
      const segments = words.map((word, i) => word ?? `{p${i}}`);
      if (rest) segments.push('**');
      return `/${segments.join('/')}${slash && segments.length > 0 ? '/' : ''}`;
    }),
  methods,
});

export const requestMethod = fc.constantFrom('GET', 'HEAD', 'POST', 'BREW');

/** Canonical paths over the same words. */
export const requestPath = fc
  .tuple(fc.array(wordOfPath, { maxLength: 6 }), fc.constantFrom('', '', '/', '/;', '/%3Bx;y'))
  .map(([words, end]) => (words.length > 0 ? `/${words.join('/')}${end}` : end.replace(/^\/?/, '/')));
