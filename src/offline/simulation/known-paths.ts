import type { RouteMatch, Routes } from '../../gateway/routing/index.ts';
import type { LoggedRequest } from './log/index.ts';

/** Maximum paths remembered. When the table is full, it is emptied. */
const MAX_PATHS = 20_000;
const MAX_METHODS = 32;
const MAX_SHAPES = 10_000;

interface Count {
  requests: number;
}

interface KnownPath<T> {
  readonly method: string;
  readonly match: RouteMatch<T> | null;
  readonly shape: Count;
  /** The same path with other methods; null if there are none yet. */
  others: Map<string, KnownPath<T>> | null;
}

/** Remembers the route of each path on its host, because paths repeat, and counts requests by shape. */
export class KnownPaths<T> implements Routes<T> {
  readonly #routes: Routes<T>;
  readonly #known = new Map<string, KnownPath<T>>();
  readonly #shapes = new Map<string, Count>();
  /** The latest request: each is looked up twice, to count it and to route it. */
  #path = '';
  #host = '';
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
    if (path === this.#path && host === this.#host && method === this.#last?.method) return this.#last;
    const known = this.#known.get(`${host}${path}`) ?? this.#first(method, host, path);
    const found = known.method === method ? known : this.#other(known, method, host, path);
    this.#path = path;
    this.#host = host;
    this.#last = found;
    return found;
  }

  #first(method: string, host: string, path: string): KnownPath<T> {
    if (this.#known.size >= MAX_PATHS) this.#known.clear();
    const known = this.#make(method, host, path);
    this.#known.set(`${host}${path}`, known);
    return known;
  }

  #other(known: KnownPath<T>, method: string, host: string, path: string): KnownPath<T> {
    known.others ??= new Map();
    const other = known.others.get(method) ?? this.#make(method, host, path);
    if (known.others.size < MAX_METHODS) known.others.set(method, other);
    return other;
  }

  #make(method: string, host: string, path: string): KnownPath<T> {
    return {
      method,
      match: this.#routes.find(method, host, path),
      shape: this.#shapeOf(method, `${host}${path}`),
      others: null,
    };
  }

  #shapeOf(method: string, place: string): Count {
    const shape = `${method} ${place.replace(/\{[^}]*\}/g, '{}')}`;
    const count = this.#shapes.get(shape) ?? { requests: 0 };
    if (this.#shapes.size < MAX_SHAPES) this.#shapes.set(shape, count);
    return count;
  }
}
