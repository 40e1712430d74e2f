import { expect, test } from 'vitest';
import { LineSender } from '../../../../src/process/workers/line-sender.ts';
import type { LogLines } from '../../../../src/process/workers/messages.ts';
import { linkInThread } from '../../../support/in-thread-host.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const LINE = `${'x'.repeat(9_999)}\n`;

test('lines beyond what may be on its way are dropped, and told as dropped at once', () => {
  const [main, worker] = linkInThread();
  const told: LogLines[] = [];
  main.on('lines', lines => void told.push(lines));
  const sender = new LineSender(worker, new FrozenClock());
  for (let count = 0; count < 1_000; count++) sender.write(LINE);
  const [written, dropped] = [told.filter(({ count }) => count > 0), told.filter(({ count }) => count === 0)];
  const sum = (key: 'count' | 'dropped') => told.reduce((all, lines) => all + lines[key], 0);
  expect(written.reduce((all, { text }) => all + text.length, 0)).toBeLessThanOrEqual(8 * 1024 * 1024);
  expect(dropped.length).toBeGreaterThan(0);
  expect([sum('count') + sum('dropped'), sum('dropped') > 0]).toEqual([1_000, true]);
  main.post('linesTaken', 8_000_000);
  sender.write(LINE);
  sender.send();
  expect(told.at(-1)).toMatchObject({ text: LINE, count: 1, dropped: 0 });
});
