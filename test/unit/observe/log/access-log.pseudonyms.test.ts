import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { Pseudonyms } from '../../../../src/observe/log/access-log.ts';

const KEY = Buffer.alloc(32, 1);
const nameUnder = (key: Buffer, value: string) =>
  createHmac('sha256', key).update(value).digest('base64url').slice(0, 22);

test('a name is 128 bits of a keyed hash, the first time and later', () => {
  const pseudonyms = new Pseudonyms(KEY);
  for (let i = 0; i < 3; i++) expect(pseudonyms.of('user:alice')).toBe(nameUnder(KEY, 'user:alice'));
});

test('another key gives other names, to those that were named before as well', () => {
  const pseudonyms = new Pseudonyms(KEY);
  const before = pseudonyms.of('user:alice');
  const other = Buffer.alloc(32, 2);
  pseudonyms.use(other);
  expect(pseudonyms.of('user:alice')).toBe(nameUnder(other, 'user:alice'));
  expect(pseudonyms.of('user:alice')).not.toBe(before);
});

test('pseudonyms stay right when more callers come than are kept', () => {
  const pseudonyms = new Pseudonyms(KEY);
  const callers = Array.from({ length: 25_000 }, (_, i) => `user:${i}`);
  for (const caller of callers) pseudonyms.of(caller);
  for (const caller of [...callers.slice(0, 50), ...callers.slice(-50)])
    expect(pseudonyms.of(caller)).toBe(nameUnder(KEY, caller));
});
