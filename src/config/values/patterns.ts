import { z } from 'zod';
import { METHODS } from '../../core/index.ts';
import { didYouMean } from '../file/index.ts';
import {
  GRPC_METHOD,
  METHOD_PATTERN,
  PatternError,
  parseGrpcPattern,
  parseRoutePattern,
  ROUTABLE_METHODS,
  type RoutePattern,
  whyNoMethod,
} from '../routing/index.ts';
import { HOST_OF_LINE_PATTERN, parseHost } from './hosts.ts';
import { messageOf, parsedText, refuseQuoting } from './refuse.ts';

/**
 * A path of routes, checked by the parser of patterns.
 *
 * @param hasHosts whether a key `hosts` takes the host
 */
export function routePath(hasHosts = false) {
  return z
    .string({ error: 'expected a path such as /v1/things/{id} or /v1/**' })
    .meta({ pattern: PATH_PATTERN })
    .superRefine((path, context) => {
      const message = whyNoPath(path, hasHosts);
      if (message !== null) refuseQuoting(context, message, 'a path such as /v1/things/{id}');
    });
}

function whyNoPath(path: string, hasHosts: boolean): string | null {
  const message =
    adviceOnHost(path, hasHosts) ?? messageOf(PatternError, () => parseRoutePattern(path, null));
  return message?.replace(`path "${path}": `, '') ?? null;
}

/** Returns what to write instead of a path that begins with a host; `null` if it does not. */
function adviceOnHost(path: string, hasHosts: boolean): string | null {
  const { host, rest } = splitHost(path);
  if (host === null) return null;
  const plain = host.replace(/:\d*$/, '');
  const written = plain.startsWith('*') ? JSON.stringify(plain) : plain;
  const why = 'a path has no host';
  if (messageOf(PatternError, () => parseRoutePattern(rest, null)) !== null) return why;
  const isHost = messageOf(PatternError, () => parseHost(plain)) === null;
  return hasHosts && isHost ? `${why}: write path: ${rest}, hosts: [${written}]` : `${why}: write "${rest}"`;
}

/** A path with an optional host before it, as in lines of limits.yaml. */
interface Placed {
  /** The host as written; `null` for a path without one. */
  readonly host: string | null;
  readonly rest: string;
}

/**
 * Splits a host from a path. A single-label host ends in a dot, except localhost: otherwise `v1/things` would be a host, although
 * it only lacks its slash.
 */
function splitHost(text: string): Placed {
  const [, host, rest] = /^([^/\s]*[.*\]:@][^/\s]*|localhost)(\/.*)$/s.exec(text) ?? [];
  return host === undefined || rest === undefined || /^https?:$/i.test(host)
    ? { host: null, rest: text }
    : { host, rest };
}

/** The gRPC calls of a route, checked by the parser of patterns. */
export function grpcRoute() {
  return parsedText('package.Service/Method or package.Service/*', GRPC_PATTERN, parseGrpcPattern);
}

/** A line of `routes:` in limits.yaml, which is the key of a map. */
export function limitRoute() {
  return z
    .string()
    .meta({ pattern: LIMIT_ROUTE_PATTERN })
    .superRefine((line, context) => {
      const message = messageOf(PatternError, () => parseLimitRoute(line));
      if (message !== null) context.addIssue({ code: 'custom', message: `is not a route: ${message}` });
    });
}

/**
 * A token (RFC 9110, 5.6.2), such as the name of a header field or an authorization scheme. Excludes "*", which the RFC allows
 * but nothing uses: here it would look like a pattern.
 */
export function httpToken(error: string) {
  return z.string({ error }).regex(/^[A-Za-z0-9!#$%&'+.^_`|~-]+$/, { error, abort: true });
}

export function fieldName(example: string) {
  return httpToken(`is not a header field name: use letters, digits and "-", such as ${example}`);
}

/** The name of a header field, or the beginning of several names followed by `*`: at least three characters. */
export function fieldNames(error: string) {
  return z
    .string({ error })
    .regex(/^([A-Za-z0-9!#$%&'+.^_`|~-]+|[A-Za-z0-9!#$%&'+.^_`|~-]{3,}\*)$/, { error, abort: true });
}

/** The path of an endpoint that the gateway serves itself: one path, not a pattern. */
export function ownPath() {
  return routePath().refine(path => !/[{*]/.test(path), {
    error: 'an endpoint has one path: write it without {parameters} and **',
  });
}

/** Complete path segments without parameters, such as `/api`; `name` names them in messages. Refuses `/` and trailing slashes. */
export function literalPath(name: string) {
  return z
    .string({ error: 'expected segments of a path such as /api' })
    .meta({ pattern: PATH_PATTERN })
    .superRefine((path, context) => {
      const literal = whyNotLiteral(path);
      const message =
        whyNoPath(path, false)?.replace(/write "\/"$/, 'leave it out') ?? (literal && `${name} ${literal}`);
      if (message !== null) refuseQuoting(context, message, 'segments of a path such as /api');
    });
}

function whyNotLiteral(path: string): string | null {
  if (/[{*]/.test(path)) return 'is the same for all requests: write it without {parameters} and **';
  if (path === '/') return 'has a segment at least: leave it out';
  return path.endsWith('/') ? `ends without a slash: write "${path.slice(0, -1)}"` : null;
}

// Regular expressions for the JSON Schema, where the gateway uses a parser. Editors and other validators have only these. They
// may accept what the parser rejects (a repeated parameter), never the reverse.

/** 1 to 1,000,000,000 in a period, or in a calendar period: `parseQuota`, which also checks that 31d is the maximum. */
const UNITS = oneOf('[1-9]\\d{0,8}', '1000000000');
const PERIOD = '[1-9]\\d{0,6}[smhd]';
const QUOTA = `${UNITS}/${oneOf(PERIOD, 'day', 'week', 'month')}`;
const RATE = `${UNITS}/${PERIOD}`;

/** `parseRoutePattern`: segments that are literals or one parameter, and "**" at the end. */
const LITERAL = `(?!\\.{1,2}(?:/|$)|:)${oneOf("[A-Za-z0-9._~!$&'()+,=:@-]", '%[0-9A-F]{2}')}+`;
const IDENTIFIER = '[A-Za-z_][A-Za-z0-9_]*';
const PARAMETER = `\\{${IDENTIFIER}\\}`;
const PATH = `(?=/)(?:/${oneOf(LITERAL, PARAMETER)})*(?:/\\*\\*)?/?`;

/** `parseGrpcPattern`. */
const GRPC_CALLS = `${IDENTIFIER}(?:\\.${IDENTIFIER})*/${oneOf(IDENTIFIER, '\\*')}`;

const ANY_CASE = [...ROUTABLE_METHODS, 'CONNECT', 'TRACE', 'PRI', 'ANY', 'ALL', GRPC_METHOD].map(word =>
  word.replace(/[A-Z]/g, letter => `[${letter}${letter.toLowerCase()}]`),
);
/**
 * The methods that `whyNoMethod` accepts: those that gateways know, and other tokens that are neither spellings of those nor words
 * with another meaning.
 */
const METHOD = oneOf(
  ...ROUTABLE_METHODS,
  `(?!${oneOf(...ANY_CASE, '\\*')}\\s)${METHOD_PATTERN.source.slice(1, -1)}`,
);

export const QUOTA_PATTERN = `^${QUOTA}$`;
export const RATE_PATTERN = `^${RATE}$`;
export const RATE_OR_OFF_PATTERN = `^${oneOf('off', RATE)}$`;
export const QUOTA_OR_OFF_PATTERN = `^${oneOf('off', QUOTA)}$`;
const PATH_PATTERN = `^${PATH}$`;
const GRPC_PATTERN = `^${GRPC_CALLS}$`;
const LIMIT_ROUTE_PATTERN = `^${oneOf(
  `(?:${METHOD}\\s+)?(?:${HOST_OF_LINE_PATTERN})?${PATH}`,
  `GRPC\\s+(?:${HOST_OF_LINE_PATTERN}/)?${GRPC_CALLS}`,
)}$`;

function oneOf(...ways: readonly string[]): string {
  return `(?:${ways.join('|')})`;
}

/**
 * Parses a line of `routes:` in limits.yaml: `GET /v1/things/{id}`, a path for every method, or `GRPC package.Service/Method`,
 * each with an optional host before the path. Throws a PatternError that says what to write instead.
 */
export function parseLimitRoute(line: string): RoutePattern {
  const [, method, path] = /^(?:([^\s/]*)\s+)?(.*)$/s.exec(line) ?? [];
  if (method === GRPC_METHOD && path !== undefined) return readCalls(path);
  if (path === undefined || /\s/.test(path)) throw new PatternError(`write METHOD /path, or /path alone`);
  if (line === GRPC_METHOD)
    throw new PatternError('the service is missing: write GRPC package.Service/Method');
  if (METHODS.includes(line)) throw new PatternError('the path is missing: write METHOD /path');
  if (method === undefined) return readPath(line, null);
  if (method.includes(',')) throw new PatternError('write a line for each method');
  if (/^(\*|any|all)$/i.test(method)) throw new PatternError('write the path alone for every method');
  if (!METHODS.includes(method) && whyNoMethod(method) !== null)
    throw new PatternError(`"${method}" is not a method${didYouMean(method, [...METHODS, GRPC_METHOD])}`);
  return readPath(path, [method]);
}

/** A line with two slashes contains a host: a service and its method are separated by only one. */
function readCalls(text: string): RoutePattern {
  const [, host, calls] = /^([^/\s]+)\/([^/]*\/[^/]*)$/.exec(text) ?? [];
  if (host === undefined || calls === undefined || /^https?:$/i.test(host)) return parseGrpcPattern(text);
  return parseGrpcPattern(calls, hostOf(host));
}

/** Omits the path from messages: they name the whole line. */
function readPath(text: string, methods: readonly string[] | null): RoutePattern {
  const { host, rest } = splitHost(text);
  try {
    return parseRoutePattern(rest, methods, host === null ? null : hostOf(host));
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new PatternError(error.message.replace(`path "${rest}": `, ''));
  }
}

function hostOf(written: string): string {
  const message = messageOf(PatternError, () => parseHost(written));
  if (message !== null) throw new PatternError(`host "${written}": ${message}`);
  return parseHost(written);
}
