import { hash } from 'node:crypto';
import type { RandomBytes, Random as RandomNumber } from '../../../src/core/index.ts';
import { Random } from '../../support/random.ts';

/**
 * A source of chance that a seed fixes. Each part of the world has its own, by name: one more draw in one part shifts nothing in the
 * others.
 */
export class Draws {
  readonly #seed: string;
  readonly #source: Random;

  constructor(seed: string) {
    this.#seed = seed;
    this.#source = new Random(hash('sha256', seed, 'buffer').readUInt32LE());
  }

  /** The source of a part of this one. */
  part(name: string): Draws {
    return new Draws(`${this.#seed} ${name}`);
  }

  /** From 0 up to but not including 1. */
  readonly random: RandomNumber = () => this.#source.next();

  readonly randomBytes: RandomBytes = count => this.#source.bytes(count);

  /** From `least` up to but not including `beyond`. */
  between(least: number, beyond: number): number {
    return least + this.random() * (beyond - least);
  }

  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number {
    return least + this.#source.below(most - least + 1);
  }

  /** Returns true in so many of a hundred cases. */
  percent(part: number): boolean {
    return this.random() * 100 < part;
  }

  one<Value>(values: readonly Value[]): Value {
    return this.#source.pick(values);
  }
}
