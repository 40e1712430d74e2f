import { METHODS } from 'node:http';

import {
  GRPC,
  PatternError,
  parseGrpcPattern,
  parseRoutePattern,
  type RoutePattern,
} from '../../routing/index.ts';
import { didYouMean } from '../file/index.ts';

/**
 * Parses a line of `routes:` in limits.yaml: `GET /v1/things/{id}`, a path alone for every method, or
 * `GRPC package.Service/Method`. Throws a PatternError that says what to write instead.
 */
export function parseLimitRoute(line: string): RoutePattern {
  const [, method, path] = /^(?:([^\s/]*)\s+)?(.*)$/s.exec(line) ?? [];
  if (method === GRPC && path !== undefined) return parseGrpcPattern(path);
  if (path === undefined || /\s/.test(path)) throw new PatternError(`write METHOD /path, or /path alone`);
  if (line === GRPC) throw new PatternError('the service is missing: write GRPC package.Service/Method');
  if (METHODS.includes(line)) throw new PatternError('the path is missing: write METHOD /path');
  if (method === undefined) return withoutName(() => parseRoutePattern(line, null), line);
  if (method.includes(',')) throw new PatternError('write a line for each method');
  if (/^(\*|any|all)$/i.test(method)) throw new PatternError('write the path alone for every method');
  if (!METHODS.includes(method))
    throw new PatternError(`"${method}" is not a method${didYouMean(method, [...METHODS, GRPC])}`);
  return withoutName(() => parseRoutePattern(path, [method]), path);
}

/** Removes the path from the message: the message names the whole line. */
function withoutName(read: () => RoutePattern, path: string): RoutePattern {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new PatternError(error.message.replace(`path "${path}": `, ''));
  }
}
