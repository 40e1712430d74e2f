import { expect, test } from 'vitest';
import { OutgoingBytes } from '../../../../src/http2/session/flow-control.ts';

test('bytes leave in their order, at most as many as asked for, and never copied', () => {
  const outgoing = new OutgoingBytes();
  const hello = Buffer.from('hello');
  for (const piece of [hello, Buffer.alloc(0), Buffer.from(' you')]) outgoing.push(piece);
  expect(outgoing.length).toBe(9);
  const taken = [outgoing.take(2), outgoing.take(100), outgoing.take(3), outgoing.take(1)];
  expect(taken.map(String)).toEqual(['he', 'llo', ' yo', 'u']);
  expect(taken[0]?.buffer).toBe(hello.buffer);
  expect(outgoing.length).toBe(0);
});
