import { expect, test } from 'vitest';
import { OutgoingBytes } from '../../../../../src/wire/http2/session/flow-control.ts';

const LARGE = Buffer.alloc(16_384, 'large ');

test('bytes leave in their order, at most as many as asked for', () => {
  const outgoing = new OutgoingBytes();
  for (const piece of ['hello', '', ' you', LARGE, 'and', ' all']) outgoing.push(Buffer.from(piece));
  expect(outgoing.length).toBe(16_400);
  const taken = [2, 100, 3, 20_000, 100].map(max => String(outgoing.take(max)));
  expect(taken).toEqual(['he', 'llo you', 'lar', String(LARGE.subarray(3)), 'and all']);
  expect(outgoing.length).toBe(0);
});

test('large pieces are never copied, and small ones are joined, also behind what was sent of them', () => {
  const outgoing = new OutgoingBytes();
  const small = Array.from({ length: 1_000 }, (_, i) => String(i % 10));
  for (const piece of small) outgoing.push(Buffer.from(piece));
  expect(String(outgoing.take(1))).toBe('0');
  outgoing.push(Buffer.from('end'));
  outgoing.push(LARGE);
  expect(String(outgoing.take(20_000))).toBe(`${small.slice(1).join('')}end`);
  expect(outgoing.take(20_000).buffer).toBe(LARGE.buffer);
  outgoing.push(Buffer.from('again'));
  expect([String(outgoing.take(5)), outgoing.length]).toEqual(['again', 0]);
});
