import type { RouteMatch, Routes } from '../../config/routing/index.ts';
import type { LoggedRequest } from './log/index.ts';

/** Maximum paths remembered. When the table is full, it is emptied. */
const MAX_PATHS = 20_000;
const MAX_SHAPES = 10_000;

interface Count {
  requests: number;
}

interface KnownPath<T> {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly match: RouteMatch<T> | null;
  readonly shape: Count;
}

/** Remembers the route of each path on its host, because paths repeat, and counts requests by shape. */
export class KnownPaths<T> implements Routes<T> {
  readonly #routes: Routes<T>;
  readonly #known = new Map<string, KnownPath<T>>();
  readonly #shapes = new Map<string, Count>();
  /** The latest request, because each is looked up twice: to count it and to route it. */
  #last: KnownPath<T> | null = null;

  constructor(routes: Routes<T>) {
    this.#routes = routes;
  }

  /** Requests by method, host and path, with `{}` for each pseudonym. Bounded: rare shapes may be missing. */
  get shapes(): ReadonlyMap<string, number> {
    return new Map(Array.from(this.#shapes, ([shape, { requests }]) => [shape, requests]));
  }

  count({ method, host, path }: LoggedRequest): void {
    // The log contains no path for a request that no route matches.
    if (path !== '') this.#of(method, host, path).shape.requests++;
  }

  find(method: string, host: string, path: string): RouteMatch<T> | null {
    return this.#of(method, host, path).match;
  }

  #of(method: string, host: string, path: string): KnownPath<T> {
    const last = this.#last;
    if (last !== null && path === last.path && method === last.method && host === last.host) return last;
    const key = `${method} ${host}${path}`;
    const known = this.#known.get(key) ?? this.#learn(key, method, host, path);
    this.#last = known;
    return known;
  }

  #learn(key: string, method: string, host: string, path: string): KnownPath<T> {
    if (this.#known.size >= MAX_PATHS) this.#known.clear();
    const match = this.#routes.find(method, host, path);
    const known = { method, host, path, match, shape: this.#shapeOf(key) };
    this.#known.set(key, known);
    return known;
  }

  #shapeOf(key: string): Count {
    const shape = key.replace(/\{[^}]*\}/g, '{}');
    const count = this.#shapes.get(shape) ?? { requests: 0 };
    if (this.#shapes.size < MAX_SHAPES) this.#shapes.set(shape, count);
    return count;
  }
}
