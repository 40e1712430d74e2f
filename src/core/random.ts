import { randomBytes } from 'node:crypto';

/** Returns a number from 0 up to but not including 1. Handed in, so that tests can fix it; not for secrets. */
export type Random = () => number;

export const systemRandom: Random = Math.random;

/** A secret from the cryptographic source, 256 bits by default. */
export function randomKey(bytes = 32): Buffer {
  return randomBytes(bytes);
}
