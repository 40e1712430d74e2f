import { expect, test } from 'vitest';
import { GrowingBytes } from '../../../src/core/index.ts';

const NOTHING = Buffer.alloc(0);
const CAP = 65_536;

/** Joins pieces of this many bytes each, every one in its own buffer. */
function joined(pieces: number, bytes: number, growing: GrowingBytes): { all: Buffer; rooms: number } {
  const rooms = new Set<ArrayBufferLike>();
  let all: Buffer = NOTHING;
  for (let i = 0; i < pieces; i++) {
    all = growing.join(all, Buffer.alloc(bytes, i));
    rooms.add(all.buffer);
  }
  return { all, rooms: rooms.size };
}

test('pieces of any size are joined in their order', () => {
  for (const [pieces, bytes] of [
    [1, 5],
    [1_000, 1],
    [7, 1_000],
    [3, 100_000],
  ] as const) {
    const { all } = joined(pieces, bytes, new GrowingBytes());
    expect(all).toEqual(Buffer.concat(Array.from({ length: pieces }, (_, i) => Buffer.alloc(bytes, i))));
  }
});

test('single bytes cause a few reallocations, not one each', () => {
  expect(joined(CAP, 1, new GrowingBytes()).rooms).toBeLessThan(8);
});

test('the buffer is no larger than the usual length, unless it has to be', () => {
  for (const pieces of [1, 40_000, CAP])
    expect(joined(pieces, 1, new GrowingBytes(CAP)).all.buffer.byteLength).toBeLessThanOrEqual(CAP);
  expect(joined(1, 2 * CAP, new GrowingBytes(CAP)).all).toHaveLength(2 * CAP);
  expect(joined(2 * CAP, 1, new GrowingBytes(CAP)).rooms).toBeLessThan(9);
});

test('bytes taken off the front are not copied again, and earlier results do not change', () => {
  const growing = new GrowingBytes();
  const first = growing.join(NOTHING, Buffer.from('GET /a'));
  const second = growing.join(first.subarray(4), Buffer.from('b'));
  expect([first, second].map(String)).toEqual(['GET /a', '/ab']);
  expect(second.buffer).toBe(first.buffer);
});

test('bytes from elsewhere are joined at their own end', () => {
  const growing = new GrowingBytes();
  const before = growing.join(NOTHING, Buffer.from('old'));
  expect(String(growing.join(Buffer.from('new '), Buffer.from('bytes')))).toBe('new bytes');
  expect(String(growing.join(before.subarray(0, 2), Buffer.from('!')))).toBe('ol!');
  expect(String(before)).toBe('old');
});

test('a buffer that was dropped is not written to again', () => {
  const growing = new GrowingBytes();
  const before = growing.join(NOTHING, Buffer.from('one'));
  growing.forget();
  const after = growing.join(before, Buffer.from('two'));
  expect(String(after)).toBe('onetwo');
  expect(after.buffer).not.toBe(before.buffer);
});
