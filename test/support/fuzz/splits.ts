import type { Random } from '../random.ts';

/** Messages up to this length are small. */
const SMALL_BYTES = 160;

/**
 * Where to split a message: every split of a small one into two, or some, and byte by byte or in several pieces.
 *
 * @param every whether a small message is split everywhere
 * @param readEnds where it is split in any case
 */
export function* splits(
  bytes: Buffer,
  every: boolean,
  random: Random,
  readEnds: readonly number[] = [],
): Generator<number[]> {
  if (every && bytes.length <= SMALL_BYTES) for (let at = 1; at < bytes.length; at++) yield [at];
  else for (let count = 4; count > 0; count--) yield [...readEnds, random.below(bytes.length)];
  if (random.chance(0.1) && bytes.length < 1_000) yield Array.from(bytes.keys());
  yield [...readEnds, ...someCuts(bytes, random)];
}

/** Three places inside the bytes. */
export function someCuts(bytes: Buffer, random: Random): number[] {
  return Array.from({ length: 3 }, () => random.below(bytes.length));
}

/** The bytes in pieces, none of them empty but perhaps the last, that end at these positions. */
export function splitAt(bytes: Buffer, ends: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const end of [...ends].sort((a, b) => a - b)) {
    if (end > at) pieces.push(bytes.subarray(at, end));
    at = Math.max(at, end);
  }
  return [...pieces, bytes.subarray(at)];
}
