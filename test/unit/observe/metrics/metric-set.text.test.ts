import { expect, test } from 'vitest';
import { atOnce, type Steps } from '../../../../src/core/index.ts';
import { MetricSet } from '../../../../src/observe/metrics/metric-set.ts';

/** A set with a metric of each kind, and labels that have to be escaped. */
function filled(): MetricSet {
  const set = new MetricSet();
  const restrictions = set.counter('weir_restrictions_total');
  for (const name of ['orders', 'a "quoted"\\\nname']) restrictions.of(name).of('offences').count += 3;
  set.histogram('weir_upstream_duration_seconds').of('api').observe(0.2);
  set.gauge('weir_websockets_open').set({ upstream: 'api' }, 2);
  set.read('weir_limit_keys', () => 1_234);
  set.read('weir_worker_event_loop_delay_seconds', () => [
    [{ worker: '1' }, Number.POSITIVE_INFINITY],
    [{ worker: '2' }, Number.NEGATIVE_INFINITY],
  ]);
  set.read('weir_limit_keys_evicted_total', () => [
    [{ bucket: 'orders', limit: 'caller' }, 1],
    [{ bucket: 'orders', limit: 'global' }, 5],
    [{ bucket: 'orders', limit: 'caller' }, 2],
  ]);
  return set;
}

test('a scrape is the text that the library writes', async () => {
  const set = filled();
  const text = await set.text([], []);
  expect(text).toBe(await set.registry.metrics());
  expect(text).toContain('\nweir_limit_keys_evicted_total{bucket="orders",limit="caller"} 3\n');
  expect(text).toContain('a \\"quoted\\"\\\\\\nname');
});

test('a value that is no number is NaN', async () => {
  const set = new MetricSet();
  set.read('weir_limit_keys', () => Number.NaN);
  expect(await set.text([], [])).toContain('\nweir_limit_keys NaN\n');
});

test('thousands of series are written in as many steps, so that no client waits for all of them', async () => {
  const set = new MetricSet();
  const tally = set.counter('weir_restrictions_total');
  const durations = set.histogram('weir_upstream_duration_seconds');
  for (let part = 0; part < 2_000; part++) {
    tally.of(`${part}`).of('offences').count++;
    durations.of(`${part}`).observe(1);
  }
  let steps = 0;
  function* counted<Result>(all: Steps<Result>): Steps<Result> {
    for (;;) {
      const step = all.next();
      if (step.done === true) return step.value;
      steps++;
      yield;
    }
  }
  const text = await set.text([], [], { slice: async all => atOnce(counted(all)) });
  expect(steps).toBe(text.split('\n').filter(line => /^weir/.test(line)).length);
  expect(steps).toBeGreaterThan(4_000);
});
