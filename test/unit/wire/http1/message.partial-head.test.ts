import { expect, test } from 'vitest';
import { PartialHead } from '../../../../src/wire/http1/message.ts';

const MAX = 1_048_576;

/** Lets the text come in pieces of `bytes`; returns the lengths at which it was worth reading. */
function lengthsRead(text: string, bytes: number, pieces = new PartialHead()): number[] {
  const all = Buffer.from(text, 'latin1');
  const read: number[] = [];
  for (let end = bytes; end < all.length + bytes; end += bytes) {
    const sofar = all.subarray(0, end);
    if (!pieces.isParsingDue(sofar, MAX)) continue;
    read.push(sofar.length);
    pieces.incomplete(sofar.length);
  }
  return read;
}

test('a short head is read with every byte', () => {
  expect(lengthsRead('GET / HTTP/1.1\r\n', 1)).toHaveLength(16);
});

test('a long head in small pieces is read a few times, not with each', () => {
  const read = lengthsRead(`GET / HTTP/1.1\r\n${'a:\r\n'.repeat(100_000)}`, 4);
  expect(read.filter(length => length > 1_024).length).toBeLessThan(12);
});

test.each([1, 2, 3, 4, 1_500])(
  'a head that comes %i bytes at a time is read once its end is there',
  bytes => {
    const text = `GET / HTTP/1.1\r\nX: ${'x'.repeat(5_000)}\r\n\r\n`;
    expect(lengthsRead(text, bytes).at(-1)).toBe(text.length);
  },
);

test('each byte of a long head is searched for the end once or twice, not with each piece', () => {
  const all = Buffer.alloc(100_000, 'x');
  const pieces = new PartialHead();
  let searched = 0;
  for (let end = 1; end <= all.length; end++) {
    const sofar = all.subarray(0, end);
    sofar.indexOf = (_: unknown, from = 0) => {
      searched += end - Number(from);
      return -1;
    };
    if (pieces.isParsingDue(sofar, MAX)) pieces.incomplete(end);
  }
  // A step of one byte looks at five: the end may have begun before it.
  expect(searched).toBeLessThan(6 * all.length);
});

test('a head that has reached the cap is read', () => {
  const pieces = new PartialHead();
  pieces.incomplete(4_000);
  expect(pieces.isParsingDue(Buffer.alloc(4_095, 'x'), 4_096)).toBe(false);
  expect(pieces.isParsingDue(Buffer.alloc(4_096, 'x'), 4_096)).toBe(true);
});

test('after a complete head, the next one is read from its first piece', () => {
  const pieces = new PartialHead();
  pieces.incomplete(100_000);
  pieces.complete();
  expect(pieces.isParsingDue(Buffer.alloc(2_000, 'x'), MAX)).toBe(true);
});
