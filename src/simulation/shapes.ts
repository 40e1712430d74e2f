import { ByPath } from './by-path.ts';
import type { LoggedRequest } from './log/index.ts';

const MAX_SHAPES = 10_000;

interface Count {
  requests: number;
}

/** Counts requests by method and path, each value in it left out. Those beyond a bound are missing. */
export class Shapes {
  readonly #counts = new Map<string, Count>();
  readonly #known = new ByPath((method, path) => this.#countOf(method, path));

  get counts(): ReadonlyMap<string, number> {
    return new Map(Array.from(this.#counts, ([shape, { requests }]) => [shape, requests]));
  }

  note({ method, path }: LoggedRequest): void {
    if (path === '') return;
    this.#known.of(method, path).requests++;
  }

  #countOf(method: string, path: string): Count {
    const shape = `${method} ${path.replace(/\{[^}]*\}/g, '{}')}`;
    const count = this.#counts.get(shape) ?? { requests: 0 };
    if (this.#counts.size < MAX_SHAPES) this.#counts.set(shape, count);
    return count;
  }
}
