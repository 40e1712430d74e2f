import { randomBytes } from 'node:crypto';

/** A number from 0 up to, not including, 1. Handed in wherever chance is wanted, so that tests can fix it. */
export type Random = () => number;

export const systemRandom: Random = Math.random;

/** A secret of 256 bits that nobody can guess, for this process alone. */
export function randomKey(): Buffer {
  return randomBytes(32);
}
