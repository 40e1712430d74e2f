import type { RoutePattern, Segment } from './table.ts';
import { EVERY_METHOD, foldSegment, GRPC_METHOD, isRoutable, whyNoMethod } from './table.ts';

/**
 * Reads `/v1/channels/{channel_id}/messages` or `/v1/**`. A trailing slash makes no difference, in patterns as in requests.
 * Throws a PatternError for a pattern that no request could match, or that would not match what it seems to.
 *
 * @param host as `RoutePattern` has it
 */
export function parseRoutePattern(
  path: string,
  methods: readonly string[] | null,
  host: string | null = null,
): RoutePattern {
  if (methods !== null) checkMethods(methods);
  try {
    return readPattern(path, methods, host);
  } catch (error) {
    const foreign = error instanceof PatternError ? readForeignPath(path) : null;
    if (foreign === null) throw error;
    return fail(path, `${foreign.why}${advise(foreign.pattern)}`);
  }
}

function readPattern(
  path: string,
  methods: RoutePattern['methods'],
  host: string | null = null,
): RoutePattern {
  if (!path.startsWith('/')) fail(path, `a path starts with "/"${advise(`/${path}`)}`);
  if (path.includes('//')) fail(path, `it has an empty segment${advise(path.replace(/\/{2,}/g, '/'))}`);
  const texts = path.replace(/\/$/, '').split('/').slice(1);
  const segments = texts.map(text => parseSegment(text, path));
  const tailAt = segments.findIndex(segment => segment.kind === 'tail');
  if (tailAt !== -1 && tailAt !== segments.length - 1) {
    fail(path, '"**" takes all that follows and can only come last: write "{name}" for one segment');
  }
  return { methods, host, path, segments, parameters: parameterNames(segments, path) };
}

/** Never suggests a path that would itself be rejected. */
function advise(path: string): string {
  try {
    readPattern(path, null);
    return `: write "${path}"`;
  } catch {
    return ': "{name}" stands for one segment, and "**" at the end for all that follow';
  }
}

function parseSegment(text: string, path: string): Segment {
  if (text === '**') return { kind: 'tail' };
  if (/^\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(text)) return { kind: 'parameter', name: text.slice(1, -1) };
  const error = braceError(text) ?? characterError(text) ?? escapeError(text);
  if (error !== null) fail(path, error);
  const folded = foldSegment(text);
  if (folded === null)
    fail(path, `the escapes in "${text}" are not UTF-8: write the UTF-8 bytes of the text`);
  return { kind: 'literal', folded };
}

function braceError(text: string): string | null {
  if (!/[{}]/.test(text)) return null;
  return /^\{[^{}]*\}$/.test(text)
    ? `"${text}" is not a parameter: write letters, digits and "_" in the braces, not a digit first`
    : `"${text}" mixes braces and text: write "{name}" alone, since a parameter is a whole segment, or %7B and %7D`;
}

function characterError(text: string): string | null {
  if (text === '.' || text === '..')
    return `the gateway refuses the segment "${text}": write the path it leads to`;
  const [, name] = /^<(?:\w+:)?([A-Za-z_]\w*)>$/.exec(text) ?? [];
  if (name !== undefined) return `write "{${name}}" for a parameter`;
  if (text.startsWith(':'))
    return `write "{${text.slice(1)}}" for a parameter, or %3A for the ":" of "${text}"`;
  const odd = /[^A-Za-z0-9\-._~!$&'()+,=:@%]/u.exec(text)?.[0];
  switch (odd) {
    case undefined:
      return null;
    case '*':
      return `write "{name}" for one segment, "**" alone at the end for the rest, %2A for the "*" of "${text}"`;
    case '?':
    case '#':
      return `a route is chosen by path alone: leave out "${odd}" and what follows`;
    case ';':
      return `leave out the ";" of "${text}": "semicolons" says whether requests to the route may have one`;
    case '\\':
      return 'the gateway refuses "\\" in a path: write "/"';
    default:
      return /[\x00-\x1f\x7f]/.test(odd)
        ? 'the gateway refuses control characters in a path: leave them out'
        : `write ${percentEncoded(odd)} for the character "${odd}" of "${text}"`;
  }
}

function escapeError(text: string): string | null {
  for (const [found, digits] of text.matchAll(/%([0-9A-Fa-f]{2})?/g)) {
    if (digits === undefined)
      return `"%" starts an escape of two hex digits: write %25 for the "%" of "${text}"`;
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    const upper = found.toUpperCase();
    if (/[A-Za-z0-9\-._~]/.test(character))
      return `paths are matched with ${found} decoded: write "${character}"`;
    if (/[\x00-\x1f\x7f/\\;]/.test(character)) return `the gateway refuses ${found} in a path: leave it out`;
    if (found !== upper) return `escapes are written in upper case: write ${upper} for ${found}`;
  }
  return null;
}

function parameterNames(segments: readonly Segment[], path: string): readonly string[] {
  const names = segments.flatMap(segment => (segment.kind === 'parameter' ? [segment.name] : []));
  const doubled = names.find((name, i) => names.indexOf(name) !== i);
  if (doubled !== undefined) fail(path, `two parameters are named "${doubled}": give each a name of its own`);
  return names;
}

function percentEncoded(character: string): string {
  return Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '%$&');
}

function fail(path: string, message: string): never {
  throw new PatternError(`path "${path}": ${message}`);
}

/** Thrown for an invalid pattern. The message names the place and says what to write instead. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/** Throws a PatternError if a route cannot have these methods. */
function checkMethods(methods: readonly string[]): void {
  if (methods.length === 0)
    throw new PatternError('the list of methods is empty: leave it out for every method');
  for (const [i, method] of methods.entries()) {
    const error = methods.indexOf(method) === i ? errorIn(method) : 'is named twice: name it once';
    if (error !== null) throw new PatternError(`method "${method}" ${error}`);
  }
}

function errorIn(method: string): string | null {
  if (whyNoMethod(method) === null) return null;
  const upper = method.toUpperCase();
  if (isRoutable(upper)) return `is written in upper case: write "${upper}"`;
  return 'is not a supported method: write GET, POST, PUT, PATCH, DELETE or the like, or name no method to match all';
}

/** The problem with a path that is not written as a pattern, and the nearest pattern. */
interface ForeignPath {
  readonly why: string;
  readonly pattern: string;
}

/**
 * Recognises a URL or a regular expression, which other gateways accept; returns `null` for anything else.
 *
 * The pattern is a guess at the intention, and may itself be invalid.
 */
function readForeignPath(path: string): ForeignPath | null {
  const [, rest] = /^[a-z][a-z0-9+.-]*:\/\/[^/]*(.*)$/i.exec(path) ?? [];
  if (rest !== undefined) return { why: 'a path has no scheme and host', pattern: rest === '' ? '/' : rest };
  if (!EXPRESSION.test(path)) return null;
  return { why: 'a path is not a regular expression', pattern: translate(path) };
}

/** Signs of a regular expression: anchors, escaped classes and dots, "or", ".*", classes with a range or count, groups, named patterns. */
const EXPRESSION = /^[~*=\s]*\^|\$$|\\[dDwWsS./]|\||\.[*+]|\[(?:\^|[^\]]*(?:-|\][+*{]))|\([^)]*[*+?]|\{\w+:/;

/** Translates piece by piece: anchors, groups that represent one segment, and the rest of a path. */
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
  return `/${path}`.replaceAll(/\/{2,}/g, '/');
}

const IDENTIFIER = /^[A-Za-z_]\w*$/;

/**
 * Reads `package.Service/Method`, or `package.Service/*` for every method of a service that no other route names. Letter case
 * is significant, as in protobuf. Throws a PatternError that says what to write instead.
 */
export function parseGrpcPattern(text: string, host: string | null = null): RoutePattern {
  const [service = '', method] = text.split('/');
  const error = grpcError(text);
  if (error !== null) throw new PatternError(error);
  const segments: readonly Segment[] = [
    { kind: 'literal', folded: service },
    method === EVERY_METHOD
      ? { kind: 'parameter', name: 'method' }
      : { kind: 'literal', folded: method ?? '' },
  ];
  return { methods: [GRPC_METHOD], host, path: text, segments, parameters: [] };
}

function grpcError(text: string): string | null {
  if (text.startsWith('/')) {
    const instead = text.replace(/^\/+/, '');
    return grpcError(instead) ?? `a service begins without "/": write "${instead}"`;
  }
  const [service = '', method, ...more] = text.split('/');
  if (/^https?:/.test(text)) return 'a service has no scheme and host: write package.Service/Method';
  if (service === EVERY_METHOD || text === '**' || text === '')
    return 'name the service: package.Service/Method, or package.Service/* for all of its methods';
  const odd = service.split('.').find(part => !IDENTIFIER.test(part));
  if (odd !== undefined) return `"${service}" is not the name of a service such as package.Service`;
  if (method === undefined) return `the method is missing: write "${text}/*" for every one`;
  if (method === '**' || method === '') return `write "${service}/*" for every method`;
  if (more.length > 0) return 'a service and a method are all: write package.Service/Method';
  if (method !== EVERY_METHOD && !IDENTIFIER.test(method))
    return `"${method}" is not the name of a method: write "${service}/*" for every one`;
  return null;
}
