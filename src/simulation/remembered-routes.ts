import type { RouteMatch, Routes } from '../routing/index.ts';
import { ByPath } from './by-path.ts';

/** Looks up each path of a log once. */
export class RememberedRoutes<T> implements Routes<T> {
  readonly #known: ByPath<RouteMatch<T> | null>;

  constructor(routes: Routes<T>) {
    this.#known = new ByPath((method, path) => routes.find(method, path));
  }

  find(method: string, path: string): RouteMatch<T> | null {
    return this.#known.of(method, path);
  }
}
