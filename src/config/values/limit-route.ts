import { METHODS } from 'node:http';
import {
  GRPC_METHOD,
  PatternError,
  parseGrpcPattern,
  parseRoutePattern,
  type RoutePattern,
} from '../../routing/index.ts';
import { didYouMean } from '../file/index.ts';
import { hasHost, NOT_THERE_YET } from './other-words.ts';

/**
 * Parses a line of `routes:` in limits.yaml: `GET /v1/things/{id}`, a path alone for every method, or
 * `GRPC package.Service/Method`. Throws a PatternError that says what to write instead.
 */
export function parseLimitRoute(line: string): RoutePattern {
  const [, method, path] = /^(?:([^\s/]*)\s+)?(.*)$/s.exec(line) ?? [];
  if (method === GRPC_METHOD && path !== undefined) return parseGrpcPattern(path);
  if (path === undefined || /\s/.test(path)) throw new PatternError(`write METHOD /path, or /path alone`);
  if (line === GRPC_METHOD)
    throw new PatternError('the service is missing: write GRPC package.Service/Method');
  if (METHODS.includes(line)) throw new PatternError('the path is missing: write METHOD /path');
  if (method === undefined) return readPath(line, null);
  if (method.includes(',')) throw new PatternError('write a line for each method');
  if (/^(\*|any|all)$/i.test(method)) throw new PatternError('write the path alone for every method');
  if (!METHODS.includes(method))
    throw new PatternError(`"${method}" is not a method${didYouMean(method, [...METHODS, GRPC_METHOD])}`);
  return readPath(path, [method]);
}

/** Leaves the path out of messages: they name the whole line. */
function readPath(path: string, methods: readonly string[] | null): RoutePattern {
  if (hasHost(path)) throw new PatternError(`a path has no host: limits by host are ${NOT_THERE_YET}`);
  try {
    return parseRoutePattern(path, methods);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new PatternError(error.message.replace(`path "${path}": `, ''));
  }
}
