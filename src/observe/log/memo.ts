import { ownString } from '../../core/index.ts';

/** Texts kept of one generation. */
const MAX_KEPT = 10_000;

/**
 * Remembers what was made of values that come again. Bounded, whatever comes: there are two generations, and when the
 * present one is full, the one before it is forgotten.
 */
export class Memo<Value extends string | null> {
  readonly #make: (value: Value) => string;
  #recent = new Map<Value, string>();
  #older = new Map<Value, string>();

  /** `make` must make the same of the same value, until `forget`. */
  constructor(make: (value: Value) => string) {
    this.#make = make;
  }

  of(value: Value): string {
    return this.#recent.get(value) ?? this.#keep(value);
  }

  forget(): void {
    this.#recent.clear();
    this.#older.clear();
  }

  #keep(value: Value): string {
    const text = this.#older.get(value) ?? this.#make(value);
    if (this.#recent.size >= MAX_KEPT) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(value === null ? value : (ownString(value) as Value), text);
    return text;
  }
}
