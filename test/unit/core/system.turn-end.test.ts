import { expect, test } from 'vitest';
import { atTurnEnd } from '../../../src/core/index.ts';

const turn = () => new Promise<void>(resolve => setImmediate(resolve));

test('tasks are done at the end of the turn, in the order in which they were asked for', async () => {
  const done: number[] = [];
  for (let n = 0; n < 3; n++) atTurnEnd({ turnEnded: () => done.push(n) });
  await new Promise<void>(resolve => process.nextTick(resolve));
  expect(done).toEqual([]);
  await turn();
  expect(done).toEqual([0, 1, 2]);
});

test('what follows from a task is done in the same turn, unless it never ends', async () => {
  let done = 0;
  const again = { turnEnded: () => (++done === 100 ? undefined : atTurnEnd(again)) };
  atTurnEnd(again);
  await turn();
  expect(done).toBe(16);
  while (done < 100) await turn();
  await turn();
  expect(done).toBe(100);
});

test('256 tasks do not wait for the end of the turn', async () => {
  let done = 0;
  for (let n = 0; n < 255; n++) atTurnEnd({ turnEnded: () => done++ });
  await new Promise<void>(resolve => process.nextTick(resolve));
  expect(done).toBe(0);
  atTurnEnd({ turnEnded: () => done++ });
  await new Promise<void>(resolve => process.nextTick(resolve));
  expect(done).toBe(256);
  atTurnEnd({ turnEnded: () => done++ });
  expect(done).toBe(256);
  await turn();
  expect(done).toBe(257);
});

test('many tasks that follow from others let timers and sockets have their turn', async () => {
  let done = 0;
  const again = { turnEnded: () => (++done < 100_000 ? atTurnEnd(again) : undefined) };
  for (let n = 0; n < 1_000; n++) atTurnEnd(again);
  await turn();
  // One round of what was begun between reads, and 16 at the end of the turn.
  expect(done).toBeLessThanOrEqual(17_000);
  while (done < 100_000) await turn();
});
