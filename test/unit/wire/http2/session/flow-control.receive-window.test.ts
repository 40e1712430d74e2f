import { expect, test } from 'vitest';
import { ReceiveWindow } from '../../../../../src/wire/http2/session/flow-control.ts';

test('what comes fits into the window to the byte', () => {
  const window = new ReceiveWindow(100);
  window.take(100);
  expect(() => window.take(1)).toThrow(expect.objectContaining({ code: 3 }));
});

test('it opens again by what was used up, once that is half of it', () => {
  const window = new ReceiveWindow(100);
  window.take(100);
  expect([49, 1, 50].map(bytes => window.use(bytes))).toEqual([0, 50, 50]);
  window.take(100);
  expect(() => window.take(1)).toThrow();
});
