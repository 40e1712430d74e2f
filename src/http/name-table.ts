/**
 * Looks header names up as the most careless server behind would: regardless of letter case, and with every character that
 * is no letter or digit taken for a hyphen. RFC 3875, 4.1.18 turns `-` into `_`; lighttpd does so with all of them, PHP with
 * the dot, and `X.Forwarded~For` and `X-Forwarded-For` become one variable.
 *
 * Nearly every name of a request is one that nobody asks for. Its first and third character tell most of those apart, the
 * characters in between the others, and no lower-case copy is made of any.
 */
export class NameTable<T> {
  /** 1 for the slots that hold an entry: a look at it costs less than one at an empty list. */
  readonly #taken = new Uint8Array(SLOTS);
  readonly #slots: NameEntry<T>[][] = Array.from({ length: SLOTS }, () => []);

  /**
   * `entries`: names with what is found for them, the last one where two are the same; a trailing `*` stands for any further
   * characters. A whole name counts before a prefix, an earlier prefix before a later one.
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

  /** What was entered for this name in any spelling, or undefined. */
  get(name: string): T | undefined {
    return this.find(name)?.value;
  }

  /** The same with the name as it was entered. */
  find(name: string): NameEntry<T> | undefined {
    const slot = slotOf(name);
    if (this.#taken[slot] === 0) return undefined;
    return this.#slots[slot]?.find(entry => entry.isFor(name));
  }
}

/** One name of a table, or all names that begin with it. */
export class NameEntry<T> {
  /** Of a prefix without its `*`. */
  readonly name: string;
  readonly isPrefix: boolean;
  readonly value: T;

  constructor(name: string, value: T) {
    this.isPrefix = name.endsWith('*');
    this.name = this.isPrefix ? name.slice(0, -1) : name;
    this.value = value;
    if (this.isPrefix && this.name.length < SHORTEST_PREFIX) throw new Error(`"${name}" says too little`);
  }

  /** Whether `name` is this one in some spelling. */
  isFor(name: string): boolean {
    const entered = this.name;
    if (this.isPrefix ? name.length < entered.length : name.length !== entered.length) return false;
    for (let i = 0; i < entered.length; i++) {
      if (FOLDED[entered.charCodeAt(i)] !== FOLDED[name.charCodeAt(i)]) return false;
    }
    return true;
  }

  /** Whether `name`, which this entry is for, is spelt as it was entered, in any letter case; with hyphens behind a prefix. */
  spells(name: string): boolean {
    for (let i = 0; i < name.length; i++) {
      const code = name.charCodeAt(i);
      if (FOLDED[code] !== HYPHEN) continue;
      if (code !== (i < this.name.length ? this.name.charCodeAt(i) : HYPHEN)) return false;
    }
    return true;
  }
}

/** A name as servers that fold it see it: in lower case, with a hyphen for each character that is no letter or digit. */
export function foldName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '-');
}

const HYPHEN = 0x2d;
/** So many characters `slotOf` looks at. */
const SHORTEST_PREFIX = 3;
const SLOTS = 1_024;

/** By the code of a character what it counts as. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, code) =>
  foldName(String.fromCharCode(code)).charCodeAt(0),
);

/** The low five bits tell letters apart. */
function slotOf(name: string): number {
  const first = FOLDED[name.charCodeAt(0)] ?? HYPHEN;
  const third = FOLDED[name.charCodeAt(2)] ?? HYPHEN;
  return ((first & 31) << 5) | (third & 31);
}
