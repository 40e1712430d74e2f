import type { LoggedRequest } from './logged-request.ts';

const MAX_SHAPES = 10_000;

/** Counts requests by method and path, each value in it left out. Those beyond a bound are missing. */
export class Shapes {
  readonly counts = new Map<string, number>();

  note({ method, path }: LoggedRequest): void {
    const shape = `${method} ${path.replace(/\{[^}]*\}/g, '{}')}`;
    const count = this.counts.get(shape);
    if (count !== undefined) this.counts.set(shape, count + 1);
    else if (this.counts.size < MAX_SHAPES) this.counts.set(shape, 1);
  }
}
