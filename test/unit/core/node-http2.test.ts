import type { Http2Stream } from 'node:http2';
import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { forgetListeners } from '../../../src/core/index.ts';

function stream(): Http2Stream {
  return new Duplex() as unknown as Http2Stream;
}

test('a stream loses its listeners without an event for each', () => {
  const closed = stream();
  let told = 0;
  closed.on('data', () => {});
  closed.on('removeListener', () => told++);
  closed.on('close', () => {});
  forgetListeners(closed);
  expect(closed.eventNames()).toEqual(['error']);
  expect(told).toBe(0);
});

test('a late error of a forgotten stream ends nothing', () => {
  const closed = stream();
  forgetListeners(closed);
  expect(() => closed.emit('error', new Error('late'))).not.toThrow();
});
