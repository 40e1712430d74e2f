import { expect, test } from 'vitest';
import { Tunnels } from '../../../../src/edge/server/tunnels.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const SLOT_MS = 50;

/** How many of so many tunnels end in each 50 ms from the beginning of a shutdown on, all of which is to take so long. */
function endings(count: number, spreadMs: number, random = 0.5, threads = 1): number[] {
  const clock = new FrozenClock();
  const tunnels = new Tunnels(clock, () => random, threads);
  let ended = 0;
  const tunnel = () => ({ start() {}, sweep() {}, drain: () => void ended++ });
  for (let i = 0; i < count; i++) tunnels.add(tunnel());
  tunnels.endBy(clock.monotonicMs() + spreadMs);
  const slots = [ended];
  for (let ms = 0; ms < spreadMs; ms += SLOT_MS) {
    const before = ended;
    clock.advance(SLOT_MS);
    slots.push(ended - before);
  }
  tunnels.stop();
  return slots;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

test.each([
  [400, 20_000, 2],
  [10_000, 20_000, 26],
  [19_000, 20_000, 50],
])('%i WebSockets end evenly within %i ms, no more than %i at once', (count, spreadMs, most) => {
  const slots = endings(count, spreadMs);
  expect(sum(slots)).toBe(count);
  expect(Math.max(...slots)).toBeLessThanOrEqual(most);
  const half = sum(slots.slice(0, slots.length / 2));
  expect(half / count).toBeGreaterThan(0.49);
  expect(half / count).toBeLessThan(0.51);
});

test('those that find no place are ended when the time is over', () => {
  const slots = endings(1_000, 500);
  expect(slots).toEqual([0, ...Array(9).fill(50), 550]);
});

test('each of several threads ends its part of those', () => {
  expect(endings(1_000, 500, 0, 4).slice(1, -1)).toEqual([12, 13, 12, 13, 12, 13, 12, 13, 12]);
});

test('all end at once where there is no time', () => {
  expect(endings(1_000, 0)).toEqual([1_000]);
});

test('one ends at some moment of the time, not at its beginning or end', () => {
  const at = (random: number) => endings(1, 20_000, random).indexOf(1) / 400;
  expect([at(0.9), at(0.5), at(0.1)]).toEqual([
    expect.closeTo(1 - Math.exp(-0.1), 1),
    expect.closeTo(1 - Math.exp(-0.5), 1),
    expect.closeTo(1 - Math.exp(-0.9), 1),
  ]);
});

test('one that ends by itself, or comes meanwhile, is counted in', () => {
  const clock = new FrozenClock();
  const tunnels = new Tunnels(clock, () => 0);
  const ended: number[] = [];
  const all = Array.from({ length: 20 }, (_, i) => ({
    start() {},
    sweep() {},
    drain: () => void ended.push(i),
  }));
  for (const each of all.slice(0, 10)) tunnels.add(each);
  tunnels.endBy(clock.monotonicMs() + 1_000);
  for (const each of all.slice(5, 10)) tunnels.delete(each);
  for (const each of all.slice(10)) tunnels.add(each);
  clock.advance(1_000);
  expect(ended).toEqual([0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  const late = { start() {}, sweep() {}, drain: () => void ended.push(20) };
  tunnels.add(late);
  clock.advance(SLOT_MS);
  expect(ended.at(-1)).toBe(20);
});
