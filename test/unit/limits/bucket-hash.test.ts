import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { BucketHash } from '../../../src/limits/index.ts';

test('a bucket is named by 32 hex digits that are the same after every restart', () => {
  expect(new BucketHash('messages.read', 'value').of('42')).toBe('1a1266dce3d47b79241980f2976274da');
  expect(new BucketHash('sign-in', 'value').of('')).toBe('48d7c508cc0ca58aebce521a3588fca0');
});

test('it is the SHA-256 of the name and the value with a zero byte between, cut to half', () => {
  const digest = createHash('sha256').update('messages.read\0\u00e9').digest('hex');
  expect(new BucketHash('messages.read', 'value').of('\u00e9')).toBe(digest.slice(0, 32));
});

test('another value or another bucket is another hash', () => {
  const read = new BucketHash('messages.read', 'value');
  const hashes = [read.of(''), read.of('1'), read.of('2'), new BucketHash('messages.write', 'value').of('1')];
  expect(new Set(hashes).size).toBe(4);
});

test('a name and a value cannot be cut in another place', () => {
  expect(new BucketHash('ab', 'value').of('c')).not.toBe(new BucketHash('a', 'value').of('bc'));
});

test('by route, all values of a bucket share its hash', () => {
  const hash = new BucketHash('messages.read', 'route');
  expect(hash.of('1')).toBe(hash.of('2'));
  expect(hash.of('1')).toBe(new BucketHash('messages.read', 'value').of(''));
});
