import { describe, expect, test } from 'vitest';
import { ReadPace } from '../../../../src/edge/server/read-pace.ts';

const TERMS = { clientReadMs: 60_000, minBytesPerS: 240 };
const SWEEP_MS = 500;

/** A client that is owed something all the time, swept twice a second. */
class Client {
  readonly pace = new ReadPace();
  bytes = 0;
  nowMs = 0;
  readonly #terms: typeof TERMS | { clientReadMs: number; minBytesPerS: null };

  constructor(terms: typeof TERMS | { clientReadMs: number; minBytesPerS: null } = TERMS) {
    this.#terms = terms;
  }

  /** When it is found too slow, in ms; `null` if it is not within this time. `take` happens before each sweep. */
  endsWithin(ms: number, take: (nowMs: number) => number = () => 0): number | null {
    for (const end = this.nowMs + ms; this.nowMs < end; ) {
      this.nowMs += SWEEP_MS;
      this.bytes += take(this.nowMs);
      if (this.pace.isTooSlow(this.nowMs, this.bytes, this.#terms)) return this.nowMs;
    }
    return null;
  }
}

/** Takes so many bytes every so often. */
const burst = (bytes: number, everyMs: number) => (nowMs: number) => (nowMs % everyMs === 0 ? bytes : 0);

describe('a client', () => {
  test('that takes nothing ends two sweeps after client_read', () => {
    expect(new Client().endsWithin(120_000)).toBe(61_000);
  });

  test('that takes a byte now and then ends as soon as its average is too low', () => {
    expect(new Client().endsWithin(120_000, burst(1, 25_000))).toBe(61_000);
  });

  test('that took much at first and then nothing ends after client_read without a byte', () => {
    const client = new Client();
    expect(client.endsWithin(500, () => 1_000_000_000)).toBeNull();
    expect(client.endsWithin(120_000)).toBe(61_000);
  });

  test('that takes little after a burst ends within an eighth of client_read after the burst no longer counts', () => {
    const client = new Client();
    expect(client.endsWithin(10_000, burst(100_000, 1_000))).toBeNull();
    const endedAtMs = client.endsWithin(200_000, burst(1, 1_000)) ?? Number.NaN;
    expect(endedAtMs).toBeGreaterThanOrEqual(70_000);
    expect(endedAtMs).toBeLessThanOrEqual(70_000 + 60_000 / 8 + 2 * SWEEP_MS);
  });

  test('that takes the least rate, in bursts, is never too slow', () => {
    expect(new Client().endsWithin(3_600_000, burst(2_900, 10_000))).toBeNull();
  });

  test('may take as little as it likes with the rate off, but something', () => {
    const client = new Client({ clientReadMs: 60_000, minBytesPerS: null });
    expect(client.endsWithin(3_600_000, burst(1, 50_000))).toBeNull();
    expect(client.endsWithin(120_000)).not.toBeNull();
  });

  test('that was owed nothing for a while begins anew', () => {
    const client = new Client();
    expect(client.endsWithin(55_000)).toBeNull();
    client.pace.rest();
    expect(client.endsWithin(60_000)).toBeNull();
    expect(client.endsWithin(5_000)).not.toBeNull();
  });

  test('is not too slow because the process stood still: it has had no chance', () => {
    const client = new Client();
    expect(client.endsWithin(5_000, burst(5_000, 1_000))).toBeNull();
    client.nowMs += 600_000;
    expect(client.endsWithin(500)).toBeNull();
    expect(client.endsWithin(30_000, burst(5_000, 500))).toBeNull();
  });

  test('keeps its marks when the same bytes are counted in another way', () => {
    const client = new Client();
    expect(client.endsWithin(50_000, burst(5_000, 1_000))).toBeNull();
    // The kernel says that a part of what it took has not reached the client.
    client.bytes -= 200_000;
    client.pace.recount(client.bytes);
    expect(client.endsWithin(600_000, burst(5_000, 1_000))).toBeNull();
  });
});
