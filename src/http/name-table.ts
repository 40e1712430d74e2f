/**
 * Looks header names up as the most careless backend would: ignoring letter case, and treating every character that is not a
 * letter or digit as a hyphen. CGI turns `-` into `_` (RFC 3875, 4.1.18), PHP dots as well, and lighttpd everything, so that
 * `X.Forwarded~For` and `X-Forwarded-For` become one variable.
 *
 * Nearly all names in a request are in no table. Comparing the first and third character rules most of them out, and no
 * lower-case copy is made of any.
 */
export class NameTable<T> {
  /** Holds 1 for each slot with an entry, which is cheaper to read than an empty list. */
  readonly #taken = new Uint8Array(SLOTS);
  readonly #slots: NameEntry<T>[][] = Array.from({ length: SLOTS }, () => []);

  /**
   * @param entries names and their values; of two equal names the last wins. A trailing `*` matches any further characters.
   *   Whole names go before prefixes, and earlier prefixes before later ones
   */
  constructor(entries: Iterable<readonly [string, T]>) {
    const byName = new Map<string, NameEntry<T>>();
    for (const [name, value] of entries) {
      const entry = new NameEntry(name, value);
      byName.set(`${foldName(entry.name)}${entry.isPrefix ? '*' : ''}`, entry);
    }
    const wholeFirst = [...byName.values()].sort((a, b) => Number(a.isPrefix) - Number(b.isPrefix));
    for (const entry of wholeFirst) {
      const slot = slotOf(entry.name);
      this.#taken[slot] = 1;
      this.#slots[slot]?.push(entry);
    }
  }

  /** Returns the value of this name in any spelling, or undefined. */
  get(name: string): T | undefined {
    return this.find(name)?.value;
  }

  /** Returns the entry of this name in any spelling, or undefined. */
  find(name: string): NameEntry<T> | undefined {
    const slot = slotOf(name);
    if (this.#taken[slot] === 0) return undefined;
    return this.#slots[slot]?.find(entry => entry.isFor(name));
  }
}

/** One name of a table, or all names that begin with it. */
export class NameEntry<T> {
  /** The name without the `*` of a prefix. */
  readonly name: string;
  readonly isPrefix: boolean;
  readonly value: T;

  constructor(name: string, value: T) {
    this.isPrefix = name.endsWith('*');
    this.name = this.isPrefix ? name.slice(0, -1) : name;
    this.value = value;
    if (this.isPrefix && this.name.length < SHORTEST_PREFIX)
      throw new Error(`"${name}" is too short for a prefix`);
  }

  /** Whether `name` is a spelling of this entry's name, or begins with one of its prefix. */
  isFor(name: string): boolean {
    const entered = this.name;
    if (this.isPrefix ? name.length < entered.length : name.length !== entered.length) return false;
    for (let i = 0; i < entered.length; i++) {
      if (FOLDED[entered.charCodeAt(i)] !== FOLDED[name.charCodeAt(i)]) return false;
    }
    return true;
  }

  /** Whether a `name` that matches this entry is spelt as it was entered, letter case aside, with hyphens after a prefix. */
  spells(name: string): boolean {
    for (let i = 0; i < name.length; i++) {
      const code = name.charCodeAt(i);
      if (FOLDED[code] !== HYPHEN) continue;
      if (code !== (i < this.name.length ? this.name.charCodeAt(i) : HYPHEN)) return false;
    }
    return true;
  }
}

/** Folds a name as careless servers do: to lower case, with a hyphen for each character that is not a letter or digit. */
export function foldName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '-');
}

const HYPHEN = 0x2d;
/** Shortest prefix, since `slotOf` reads this many characters. */
const SHORTEST_PREFIX = 3;
const SLOTS = 1_024;

/** Maps a character code to the code it is folded to. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, code) =>
  foldName(String.fromCharCode(code)).charCodeAt(0),
);

/** Returns the slot of a name, by the low five bits of two characters: they tell letters apart. */
function slotOf(name: string): number {
  const first = FOLDED[name.charCodeAt(0)] ?? HYPHEN;
  const third = FOLDED[name.charCodeAt(2)] ?? HYPHEN;
  return ((first & 31) << 5) | (third & 31);
}
