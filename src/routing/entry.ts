import type { RoutePattern } from './pattern.ts';

/** A pattern, and what it stands for. */
export interface RouteEntry<T> {
  readonly pattern: RoutePattern;
  readonly value: T;
}

export interface RouteMatch<T> {
  readonly value: T;
  /** The values of the pattern's parameters, in order: as in the canonical path, not decoded. */
  readonly params: readonly string[];
}

/** Finds the route of a request. */
export interface Routes<T> {
  /** `path`: canonical; `method`: `GRPC` for a gRPC call. Null when no route takes the request. */
  find(method: string, path: string): RouteMatch<T> | null;
}
