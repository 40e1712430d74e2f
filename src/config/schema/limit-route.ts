import { METHODS } from 'node:http';

import { PatternError, parseRoutePattern, type RoutePattern } from '../../routing/index.ts';
import { didYouMean } from '../file/index.ts';

/**
 * Parses a line of `routes:` in limits.yaml: `GET /v1/things/{id}`, or a path alone for every method. Throws a PatternError
 * that says what to write instead.
 */
export function parseLimitRoute(line: string): RoutePattern {
  const [, method, path] = /^(?:([^\s/]*)\s+)?(.*)$/s.exec(line) ?? [];
  if (path === undefined || /\s/.test(path)) throw new PatternError(`write METHOD /path, or /path alone`);
  if (METHODS.includes(line)) throw new PatternError('the path is missing: write METHOD /path');
  if (method === undefined) return withoutName(() => parseRoutePattern(line, null), line);
  if (method.includes(',')) throw new PatternError('write a line for each method');
  if (/^(\*|any|all)$/i.test(method)) throw new PatternError('write the path alone for every method');
  if (!METHODS.includes(method))
    throw new PatternError(`"${method}" is not a method${didYouMean(method, METHODS)}`);
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
