import { setTimeout as set } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';
import { isRealTime, takeBreaches } from './real-time.ts';
import { clockOfTests } from './test-clock.ts';

const nothing = () => {};

test.each<[string, () => void]>([
  ['setTimeout', () => clearTimeout(setTimeout(nothing, 51))],
  ['setInterval', () => clearInterval(setInterval(nothing, 51))],
  ['setTimeout', () => clearTimeout(set(nothing, 51))],
  ['setTimeout', () => void sleep(51)],
  ['setTimeout', () => systemClock.cancel(systemClock.after(51, nothing))],
  ['AbortSignal.timeout', () => void systemClock.signalAfter(51)],
])('a timer of the machine of over 50 ms is a breach, with its place: %s', (name, act) => {
  act();
  expect(takeBreaches()).toEqual([expect.stringMatching(`^${name} of 51 ms by .*real-time.test.ts:`)]);
});

test('shorter ones are none, nor those of vitest, nor those of a clock of tests', async () => {
  await sleep(50);
  await vi.waitFor(nothing);
  await expect.poll(() => true).toBe(true);
  new FrozenClock().after(60_000, nothing);
  clockOfTests().every(60_000, nothing);
  expect([takeBreaches(), isRealTime()]).toEqual([[], false]);
});

test('a clock of tests fires what is due in its order, each at its moment, and no more than that', async () => {
  const clock = new FrozenClock();
  const beganMs = clock.monotonicMs();
  const fired: string[] = [];
  const fires = (name: string) => () => fired.push(`${name} ${Math.round(clock.monotonicMs() - beganMs)}`);
  clock.after(300, fires('after'));
  clock.every(200, fires('every'));
  clock.cancel(clock.after(100, fires('cancelled')));
  const signal = clock.signalAfter(500);
  clock.advance(450);
  expect(fired).toEqual(['every 200', 'after 300', 'every 400']);
  expect(signal.aborted).toBe(false);
  await clock.advanceUntil('the signal is aborted', () => signal.aborted);
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
  expect(Math.round(clock.monotonicMs() - beganMs)).toBe(500);
});

test('a file of tests has the same URL in each run: what Node.js compiles is found again', () => {
  expect(import.meta.url).toMatch(/\/real-time\.test\.ts$/);
});
