import fc from 'fast-check';
import { Counter, Histogram, type MetricConfiguration, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { METRICS, type MetricName } from '../../../../src/observe/metrics/declarations.ts';
import { MetricSet } from '../../../../src/observe/metrics/metric-set.ts';

/** A registry of the library, and what it needs to make this metric. */
function libraryOptions(name: MetricName): MetricConfiguration<string> & { readonly registers: Registry[] } {
  const { help, labels } = METRICS[name];
  return { name, help, labelNames: Object.keys(labels), registers: [new Registry()] };
}

/** A scrape; the order of series says nothing. */
async function shown(registry: Registry | undefined): Promise<string[]> {
  return ((await registry?.metrics()) ?? '').split('\n').sort();
}

const label = fc.constantFrom('none', 'api', '/a/{b}', 'a "quoted"\\\nname', '__proto__', '200');

test('a tally is shown as the library shows its own counter, scrape after scrape', async () => {
  const scrape = fc.array(fc.tuple(label, label, label, label), { maxLength: 50 });
  await fc.assert(
    fc.asyncProperty(fc.array(scrape, { maxLength: 4 }), async scrapes => {
      const set = new MetricSet();
      const tally = set.counter('weir_limit_decisions_total');
      const options = libraryOptions('weir_limit_decisions_total');
      const counter = new Counter(options);
      for (const events of [[], ...scrapes]) {
        for (const [bucket, callerClass, outcome, period] of events) {
          tally.of(bucket).of(callerClass).of(outcome).of(period).count++;
          counter.inc({ bucket, class: callerClass, outcome, period });
        }
        expect(await shown(set.registry)).toEqual(await shown(options.registers[0]));
      }
    }),
  );
});

test('a label without a value is left out', async () => {
  const set = new MetricSet();
  const tally = set.counter('weir_tokens_total');
  tally.of('').of('known').count++;
  tally.of('main').of('known').count++;
  const lines = (await set.registry.metrics()).split('\n');
  expect(lines).toContain('weir_tokens_total{outcome="known"} 1');
  expect(lines).toContain('weir_tokens_total{provider="main",outcome="known"} 1');
});

test('a tally without labels is shown from the beginning', async () => {
  const set = new MetricSet();
  const tally = set.counter('weir_proofs_total');
  expect(await set.registry.metrics()).toContain('\nweir_proofs_total 0\n');
  tally.count += 1_234;
  for (let i = 0; i < 2; i++) expect(await set.registry.metrics()).toContain('\nweir_proofs_total 1234\n');
});

test('a part that was found is shown from then on, at 0', async () => {
  const set = new MetricSet();
  const tally = set.counter('weir_upstream_retries_total');
  tally.of('seen').count++;
  tally.of('unseen');
  const text = await set.registry.metrics();
  expect(text).toContain('weir_upstream_retries_total{upstream="seen"} 1\n');
  expect(text).toContain('weir_upstream_retries_total{upstream="unseen"} 0\n');
});

test('a histogram is shown as the library shows its own, scrape after scrape', async () => {
  const buckets = [...(METRICS.weir_websocket_duration_seconds.buckets ?? [])];
  const value = fc.oneof(fc.constantFrom(0, ...buckets), fc.double({ min: 0, max: 90_000, noNaN: true }));
  const scrape = fc.array(fc.tuple(label, value), { maxLength: 50 });
  await fc.assert(
    fc.asyncProperty(fc.array(scrape, { maxLength: 4 }), async scrapes => {
      const set = new MetricSet();
      const tally = set.histogram('weir_websocket_duration_seconds');
      const options = libraryOptions('weir_websocket_duration_seconds');
      const histogram = new Histogram({ ...options, buckets });
      for (const events of [[], ...scrapes]) {
        for (const [upstream, seconds] of events) {
          tally.of(upstream).observe(seconds);
          histogram.observe({ upstream }, seconds);
        }
        expect(await shown(set.registry)).toEqual(await shown(options.registers[0]));
      }
    }),
  );
});
