import { TwoGenerations } from './two-generations.ts';

/** Remembers the texts made of other texts, so that one that comes again costs a look-up. Bounded, whatever comes. */
export class Memo {
  readonly #make: (text: string) => string;
  readonly #made: TwoGenerations<string>;

  /** `make` must return the same for the same text, until `forget`. */
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
