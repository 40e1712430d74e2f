import { TwoGenerations } from './two-generations.ts';

/** A bounded cache for a function from text to text. */
export class Memo {
  readonly #make: (text: string) => string;
  readonly #made: TwoGenerations<string>;

  /** `make` must return the same result for the same text, until `forget`. */
  constructor(make: (text: string) => string, maxEntries: number) {
    this.#make = make;
    this.#made = new TwoGenerations(maxEntries);
  }

  of(text: string): string {
    return this.#made.get(text) ?? this.#keep(text);
  }

  forget(): void {
    this.#made.clear();
  }

  #keep(text: string): string {
    const made = this.#make(text);
    this.#made.set(text, made);
    return made;
  }
}
