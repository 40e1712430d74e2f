import { createHash, hash } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { BucketHash, type BucketHashing, RecentDigests } from '../../../../src/limits/index.ts';

vi.mock('node:crypto', { spy: true });

function bucketHash(bucket: string, hashing: BucketHashing): BucketHash {
  return new BucketHash(bucket, hashing, new RecentDigests());
}

test('a bucket is named by 32 hex digits that are the same after every restart', () => {
  expect(bucketHash('messages.read', 'value').of('42')).toBe('1a1266dce3d47b79241980f2976274da');
  expect(bucketHash('sign-in', 'value').of('')).toBe('48d7c508cc0ca58aebce521a3588fca0');
});

test('the hash is the first half of the SHA-256 of name and value with a zero byte between', () => {
  const digest = createHash('sha256').update('messages.read\0\u00e9').digest('hex');
  expect(bucketHash('messages.read', 'value').of('\u00e9')).toBe(digest.slice(0, 32));
});

test('another value or another bucket has another hash', () => {
  const read = bucketHash('messages.read', 'value');
  const hashes = [read.of(''), read.of('1'), read.of('2'), bucketHash('messages.write', 'value').of('1')];
  expect(new Set(hashes).size).toBe(4);
});

test('name and value cannot be confused by splitting them elsewhere', () => {
  expect(bucketHash('ab', 'value').of('c')).not.toBe(bucketHash('a', 'value').of('bc'));
});

test('by route, all values of a bucket share its hash', () => {
  const hash = bucketHash('messages.read', 'route');
  expect(hash.of('1')).toBe(hash.of('2'));
  expect(hash.of('1')).toBe(bucketHash('messages.read', 'value').of(''));
});

test('buckets that share remembered digests keep their own hashes, also for repeated values', () => {
  const digests = new RecentDigests();
  const [read, write] = ['messages.read', 'messages.write'].map(
    name => new BucketHash(name, 'value', digests),
  );
  for (let round = 0; round < 3; round++) {
    for (let value = 0; value < 3_000; value++) {
      const expected = createHash('sha256').update(`messages.read\0${value}`).digest('hex').slice(0, 32);
      expect(read?.of(String(value))).toBe(expected);
      expect(write?.of(String(value))).not.toBe(expected);
    }
  }
});

test('a text too long to be remembered is hashed as well, each time', () => {
  const buckets = bucketHash('b', 'value');
  // With the name and the zero byte, 128 characters are remembered.
  for (const [length, times] of [
    [126, 1],
    [127, 3],
    [8_000, 3],
  ] as const) {
    const main = 'x'.repeat(length);
    const expected = createHash('sha256').update(`b\0${main}`).digest('hex').slice(0, 32);
    vi.mocked(hash).mockClear();
    for (let i = 0; i < 3; i++) expect(buckets.of(main)).toBe(expected);
    expect(hash).toHaveBeenCalledTimes(times);
  }
});
