import type { RouteEntry, RouteMatch } from './entry.ts';
import { EVERY } from './grpc-pattern.ts';

/**
 * Finds the route of a gRPC call by its path, `/package.Service/Method`, letter by letter: a route that names the method goes
 * before the one for all methods of its service.
 */
export class GrpcTable<T> {
  readonly #matches: ReadonlyMap<string, RouteMatch<T>>;

  constructor(entries: readonly RouteEntry<T>[]) {
    this.#matches = new Map(
      entries.map(({ pattern, value }) => [`/${pattern.path}`, { value, params: [] }] as const),
    );
  }

  find(path: string): RouteMatch<T> | null {
    const service = path.slice(0, path.lastIndexOf('/') + 1);
    return this.#matches.get(path) ?? this.#matches.get(service + EVERY) ?? null;
  }
}
