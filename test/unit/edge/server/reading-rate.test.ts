import { expect, test } from 'vitest';
import { ReadingRate } from '../../../../src/edge/server/reading-rate.ts';

const PART_MS = 7_500;

/** Measures twice a second for so long, while the client takes so many bytes every so often. Returns the last rate. */
function measured(
  rate: ReadingRate,
  from: { ms: number; bytes: number },
  ms: number,
  bytes = 0,
  everyMs = 500,
) {
  let last: number | null = null;
  for (const end = from.ms + ms; from.ms < end; ) {
    from.ms += 500;
    if (from.ms % everyMs === 0) from.bytes += bytes;
    last = rate.at(from.ms, from.bytes, PART_MS);
  }
  return last;
}

test('a rate is not known before a whole part was measured', () => {
  const rate = new ReadingRate();
  const now = { ms: 0, bytes: 0 };
  expect(measured(rate, now, 7_500, 5_000)).toBeNull();
  expect(measured(rate, now, 500, 5_000)).toBeCloseTo(10_000);
});

test('a client that takes large pieces now and then is as fast as they are on average', () => {
  const rate = new ReadingRate();
  const now = { ms: 0, bytes: 0 };
  measured(rate, now, 60_000, 900_000, 30_000);
  for (let i = 0; i < 100; i++) {
    const bytesPerS = measured(rate, now, 1_500, 900_000, 30_000);
    expect(bytesPerS).toBeGreaterThan(10_000);
    expect(bytesPerS).toBeLessThan(60_000);
  }
});

test('a client that takes nothing any more gets slower and slower', () => {
  const rate = new ReadingRate();
  const now = { ms: 0, bytes: 0 };
  measured(rate, now, 30_000, 500_000);
  const [one, two, three] = [1, 2, 3].map(() => measured(rate, now, 30_000) ?? 0);
  expect(two).toBeLessThan((one ?? 0) * 0.7);
  expect(three).toBeLessThan((two ?? 0) * 0.8);
});

test('time in which nothing is held does not count', () => {
  const rate = new ReadingRate();
  const now = { ms: 0, bytes: 0 };
  const before = measured(rate, now, 30_000, 5_000);
  rate.rest(now.ms);
  now.ms += 3_600_000;
  expect(measured(rate, now, 500, 5_000)).toBeCloseTo(before ?? 0, -4);
});

test('another count of the same bytes changes nothing', () => {
  const rate = new ReadingRate();
  const now = { ms: 0, bytes: 0 };
  measured(rate, now, 30_000, 5_000);
  rate.recount(-2_000_000);
  now.bytes -= 2_000_000;
  expect(measured(rate, now, 500, 5_000)).toBeCloseTo(10_000);
});
