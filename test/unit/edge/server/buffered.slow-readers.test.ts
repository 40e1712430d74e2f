import { expect, test } from 'vitest';
import { MemorySocket } from '../../../support/memory-socket.ts';
import { ownBuffered } from '../../../support/own-buffered.ts';

test('a client that reads is not too slow while the kernel takes a large write part by part', () => {
  const holder = { socket: new MemorySocket().asSocket, takenBytes: 0, cut: () => {}, count: () => {} };
  const holding = ownBuffered().open(holder, '192.0.2.1');
  holding.set(1_000_000);
  const terms = { clientReadMs: 3_000, minBytesPerS: 240 };
  // Node.js says nothing of the write before its end. The kernel is full again and again, since it takes more as soon as it has room.
  for (let sweep = 0; sweep < 40; sweep++) {
    expect(holding.isTooSlow(500 * sweep, terms)).toBe(false);
    holding.acknowledge(sweep % 2 === 0 ? 8_000 : 2_000);
  }
});

test('a client that takes nothing is too slow, however the kernel was filled', () => {
  const holder = { socket: new MemorySocket().asSocket, takenBytes: 0, cut: () => {}, count: () => {} };
  const holding = ownBuffered().open(holder, '192.0.2.1');
  holding.set(1_000_000);
  const terms = { clientReadMs: 3_000, minBytesPerS: null };
  const found: number[] = [];
  for (let ms = 0; ms <= 6_000; ms += 500) {
    if (holding.isTooSlow(ms, terms)) found.push(ms);
    holding.acknowledge(Math.min(8_000, ms));
  }
  expect(found[0]).toBe(4_000);
});
