import { randomBytes, randomFillSync } from 'node:crypto';

/** Returns a number from 0 up to but not including 1. Handed in, so that tests can fix it; not for secrets. */
export type Random = () => number;

export const systemRandom: Random = Math.random;

/** A secret from the cryptographic source, 256 bits by default. */
export function randomKey(bytes = 32): Buffer {
  return randomBytes(bytes);
}

/** Makes a source of random bytes in hexadecimal digits, for ids. It takes many at a time from the system. Not for secrets. */
export function hexSource(): (bytes: number) => string {
  const pool = Buffer.alloc(8_192);
  let at = pool.length;
  return bytes => {
    if (at + bytes > pool.length) {
      randomFillSync(pool);
      at = 0;
    }
    at += bytes;
    return pool.toString('hex', at - bytes, at);
  };
}

/**
 * Makes request ids, unique across processes by 60 random bits and within one by a counter. Not a secret: an id names a
 * request and proves nothing.
 */
export function requestIdSource(): () => string {
  const prefix = randomBytes(8).toString('base64url').replaceAll(/[-_]/g, '0').slice(0, 10);
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}
