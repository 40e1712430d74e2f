/** Paths remembered; then all are forgotten. */
const MAX_PATHS = 20_000;
const MAX_METHODS = 32;

interface Known<T> {
  readonly method: string;
  readonly value: T;
  /** For the other methods of the path, if there are any. */
  others: Map<string, T> | null;
}

/** Remembers something about each method and path: those of a log come again and again. */
export class ByPath<T> {
  readonly #make: (method: string, path: string) => T;
  readonly #known = new Map<string, Known<T>>();

  constructor(make: (method: string, path: string) => T) {
    this.#make = make;
  }

  of(method: string, path: string): T {
    const known = this.#known.get(path);
    if (known?.method === method) return known.value;
    return known === undefined ? this.#first(method, path) : this.#other(known, method, path);
  }

  #first(method: string, path: string): T {
    if (this.#known.size >= MAX_PATHS) this.#known.clear();
    const value = this.#make(method, path);
    this.#known.set(path, { method, value, others: null });
    return value;
  }

  #other(known: Known<T>, method: string, path: string): T {
    known.others ??= new Map();
    const other = known.others.get(method);
    if (other !== undefined) return other;
    const value = this.#make(method, path);
    if (known.others.size < MAX_METHODS) known.others.set(method, value);
    return value;
  }
}
