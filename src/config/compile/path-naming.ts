import { mainValue } from '../../http/index.ts';
import type { PathNaming } from '../../observe/index.ts';
import { PathWords, type RoutePattern } from '../../routing/index.ts';

/**
 * Names paths in the log by the literals of all routes, those of limits.yaml included. A segment is named by the value that a
 * main parameter would have there, so that a replay can count by another parameter.
 */
export function pathNaming(routes: readonly { readonly pattern: RoutePattern }[]): PathNaming {
  const words = new PathWords(routes.map(({ pattern }) => pattern));
  return {
    rewrite: (path, isCall, name) =>
      words.rewrite(path, isCall, segment => name(mainValue(segment) ?? segment)),
  };
}
