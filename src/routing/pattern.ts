import { METHODS } from 'node:http';
import { foldSegment, type Segment } from './segment.ts';

/** Which requests a route takes. */
export interface RoutePattern {
  /** Null: every method, also one that nobody has heard of. */
  readonly methods: readonly string[] | null;
  /** As it was written. */
  readonly path: string;
  readonly segments: readonly Segment[];
  /** Names of the `{name}` segments in order. */
  readonly parameters: readonly string[];
}

/** A pattern that cannot be meant; the message names the place and what to write instead. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/**
 * Reads `/v1/channels/{channel_id}/messages` or `/v1/**`. A trailing slash says nothing, in a pattern as in a request.
 * Throws a PatternError for a pattern that no request could match, or that would match something other than it seems to.
 */
export function parseRoutePattern(path: string, methods: readonly string[] | null): RoutePattern {
  if (methods !== null) checkMethods(methods);
  if (!path.startsWith('/')) fail(path, `a path starts with "/": write "/${path}"`);
  if (path.includes('//')) fail(path, `it has an empty segment: write "${path.replace(/\/{2,}/g, '/')}"`);
  const texts = path.replace(/\/$/, '').split('/').slice(1);
  const segments = texts.map(text => parseSegment(text, path));
  const rest = segments.findIndex(segment => segment.kind === 'rest');
  if (rest !== -1 && rest !== segments.length - 1) {
    fail(path, '"**" takes all that follows and can only come last: write "{name}" for one segment');
  }
  return { methods, path, segments, parameters: parameterNames(segments, path) };
}

/** Two patterns of one shape match the same paths: only the names of their parameters and their spelling differ. */
export function shapeOf(segments: readonly Segment[]): string {
  // The "=" keeps a literal apart from the two signs, whatever its escapes decode to; none decodes to a slash.
  return segments
    .map(segment => (segment.kind === 'literal' ? `=${segment.folded}` : SHAPE_SIGN[segment.kind]))
    .join('/');
}

const SHAPE_SIGN = { parameter: '{}', rest: '**' } as const;

// CONNECT and TRACE never reach a route: the gateway refuses them.
const ROUTABLE_METHODS = new Set(METHODS.filter(method => method !== 'CONNECT' && method !== 'TRACE'));

function checkMethods(methods: readonly string[]): void {
  if (methods.length === 0)
    throw new PatternError('an empty list of methods matches nothing: leave it out for every method');
  methods.forEach((method, i) => {
    const upper = method.toUpperCase();
    if (methods.indexOf(method) !== i)
      throw new PatternError(`method "${method}" is named twice: name it once`);
    if (method !== upper && ROUTABLE_METHODS.has(upper)) {
      throw new PatternError(`methods are written in upper case: write "${upper}" for "${method}"`);
    }
    if (!ROUTABLE_METHODS.has(method)) {
      throw new PatternError(
        `"${method}" is not a method the gateway accepts: write GET, POST, PUT, PATCH, DELETE or the like, or none for every method`,
      );
    }
  });
}

function parseSegment(text: string, path: string): Segment {
  if (text === '**') return { kind: 'rest' };
  if (/^\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(text)) return { kind: 'parameter', name: text.slice(1, -1) };
  checkBraces(text, path);
  checkCharacters(text, path);
  checkEscapes(text, path);
  if (text === '.' || text === '..')
    fail(path, `the gateway refuses the segment "${text}": write the path it leads to`);
  const folded = foldSegment(text);
  if (folded === null)
    fail(path, `the escapes of "${text}" are not UTF-8: write the UTF-8 bytes of the characters`);
  return { kind: 'literal', folded };
}

function checkBraces(text: string, path: string): void {
  if (!/[{}]/.test(text)) return;
  if (/^\{[^{}]*\}$/.test(text)) {
    fail(path, `"${text}" is no parameter: write letters, digits and "_" in the braces, not a digit first`);
  }
  fail(
    path,
    `"${text}" mixes braces and text: a parameter is a whole segment, write "{name}" alone, or %7B and %7D`,
  );
}

function checkCharacters(text: string, path: string): void {
  if (text.startsWith(':'))
    fail(path, `write "{${text.slice(1)}}" for a parameter, or %3A for a ":" at the start of "${text}"`);
  const odd = /[^A-Za-z0-9\-._~!$&'()+,=:@%]/u.exec(text)?.[0];
  if (odd === undefined) return;
  if (odd === '*')
    fail(
      path,
      `write "{name}" for one segment, "**" alone at the end for the rest, %2A for the character in "${text}"`,
    );
  if (odd === '?' || odd === '#')
    fail(path, `a route is chosen by path alone: leave out "${odd}" and what follows`);
  if (odd === ';')
    fail(path, `leave out ";" in "${text}": whether requests may have it, the route says with "semicolons"`);
  if (odd === '\\') fail(path, `the gateway refuses "\\" in a path: write "/"`);
  if (/[\x00-\x1f\x7f]/.test(odd))
    fail(path, 'the gateway refuses control characters in a path: leave them out');
  fail(path, `write ${percentEncoded(odd)} for the character "${odd}" in "${text}"`);
}

function checkEscapes(text: string, path: string): void {
  for (const [found, digits] of text.matchAll(/%([0-9A-Fa-f]{2})?/g)) {
    if (digits === undefined)
      fail(path, `"%" starts an escape of two hex digits: write %25 for the character in "${text}"`);
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    if (/[A-Za-z0-9\-._~]/.test(character))
      fail(path, `requests are matched with ${found} decoded: write "${character}"`);
    if (/[\x00-\x1f\x7f/\\;]/.test(character))
      fail(path, `the gateway refuses ${found} in a path: leave it out`);
    if (found !== found.toUpperCase())
      fail(path, `escapes are written in upper case: write ${found.toUpperCase()} for ${found}`);
  }
}

function parameterNames(segments: readonly Segment[], path: string): readonly string[] {
  const names = segments.flatMap(segment => (segment.kind === 'parameter' ? [segment.name] : []));
  const doubled = names.find((name, i) => names.indexOf(name) !== i);
  if (doubled !== undefined) fail(path, `two parameters are named "${doubled}": give each a name of its own`);
  return names;
}

function percentEncoded(character: string): string {
  return Array.from(
    Buffer.from(character),
    byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  ).join('');
}

function fail(path: string, message: string): never {
  throw new PatternError(`path "${path}": ${message}`);
}
