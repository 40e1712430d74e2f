import { describe, expect, test } from 'vitest';
import { FloodWatch } from '../../../../src/server/http2/flood-watch.ts';

const KIB = 1024;

describe('resets', () => {
  const afterResets = (watch: FloodWatch, count: number) =>
    Array.from({ length: count }, () => watch.reset()).filter(flood => flood !== null).length;

  test('pass up to 500 at once, and 50 a second from then on', () => {
    const watch = new FloodWatch(0);
    expect(afterResets(watch, 500)).toBe(0);
    expect(watch.reset()).toBe('resets');
    watch.sweep(2_000, 0, 0, 0);
    expect(afterResets(watch, 100)).toBe(1);
  });

  test('are forgotten with time, and no credit is saved up', () => {
    const watch = new FloodWatch(0);
    expect(afterResets(watch, 500)).toBe(0);
    watch.sweep(1_000_000, 0, 0, 0);
    expect(afterResets(watch, 500)).toBe(0);
    expect(watch.reset()).toBe('resets');
  });
});

describe('bytes that no stream explains', () => {
  /** Sweeps twice a second; `perSweep` are the bytes read and explained between two. */
  function floods(seconds: number, read: number, explained: number): boolean {
    const watch = new FloodWatch(0);
    for (let sweep = 1; sweep <= 2 * seconds; sweep++)
      if (watch.sweep(sweep * 500, sweep * read, sweep * explained, 0) !== null) return true;
    return false;
  }

  test('pass at 64 KiB a second for ever, and not much faster', () => {
    expect(floods(1_000, 32 * KIB, 0)).toBe(false);
    expect(floods(60, 64 * KIB, 0)).toBe(true);
  });

  test('are not those of requests and of what acknowledges responses, however many', () => {
    expect(floods(1_000, 1_024 * KIB, 1_024 * KIB)).toBe(false);
  });

  test('are found behind a long time of honest work', () => {
    const watch = new FloodWatch(0);
    for (let sweep = 1; sweep <= 1_000; sweep++) watch.sweep(sweep * 500, 0, sweep * 100_000, 0);
    expect(watch.sweep(500_500, 2_000 * KIB, 100_000_000, 0)).toBe('unexplained_bytes');
  });

  test('pass for as long as the streams may turn out to explain them, and count from then on', () => {
    const watch = new FloodWatch(0);
    expect(watch.sweep(500, 2_000 * KIB, 0, 2_000 * KIB)).toBeNull();
    expect(watch.sweep(1_000, 2_000 * KIB, 0, 0)).toBe('unexplained_bytes');
  });
});
