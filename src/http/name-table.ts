/**
 * Looks header names up regardless of their letter case, and of `_` for `-`: servers that speak CGI or WSGI fold both
 * into one variable, so `X_Forwarded_For` must not slip past a rule for `X-Forwarded-For`.
 *
 * Nearly every name of a request is one that nobody asks for. A small filter by length and first letter tells those
 * apart without making a lower-case copy of each.
 */
export class NameTable<T> {
  readonly #filter = new Uint8Array(64 * 32);
  readonly #values = new Map<string, T>();
  readonly #prefixes: { readonly prefix: string; readonly value: T }[] = [];

  /** `entries`: names in lower case with what `get` returns for them; a trailing `*` stands for any further letters. */
  constructor(entries: Iterable<readonly [string, T]>) {
    for (const [name, value] of entries) {
      if (name.endsWith('*')) this.#addPrefix(name.slice(0, -1), value);
      else this.#addName(name, value);
    }
  }

  /** What was entered for this name, or undefined. */
  get(name: string): T | undefined {
    if (this.#filter[filterSlot(name.length, name.charCodeAt(0))] === 0) return undefined;
    const lower = fold(name);
    const value = this.#values.get(lower);
    if (value !== undefined) return value;
    for (const entry of this.#prefixes) if (lower.startsWith(entry.prefix)) return entry.value;
    return undefined;
  }

  #addName(name: string, value: T): void {
    this.#values.set(fold(name), value);
    this.#filter[filterSlot(name.length, name.charCodeAt(0))] = 1;
  }

  #addPrefix(prefix: string, value: T): void {
    this.#prefixes.push({ prefix: fold(prefix), value });
    for (let length = prefix.length; length < 64; length++) {
      this.#filter[filterSlot(length, prefix.charCodeAt(0))] = 1;
    }
  }
}

/** Letters differ from their other case by bit 5 only, so the low five bits name a letter in either case. */
function filterSlot(length: number, firstCode: number): number {
  return (Math.min(length, 63) << 5) | (firstCode & 31);
}

function fold(name: string): string {
  const lower = name.toLowerCase();
  return lower.includes('_') ? lower.replaceAll('_', '-') : lower;
}
