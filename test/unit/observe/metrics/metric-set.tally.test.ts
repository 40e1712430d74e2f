import fc from 'fast-check';
import { Counter, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { tallyCounter, tallyHistogram } from '../../../../src/observe/metrics/metric-set.ts';

const about = { name: 'weir_things_total', help: 'Things.' };

/** A scrape; the order of series says nothing. */
async function shown(registry: Registry): Promise<string[]> {
  return (await registry.metrics()).split('\n').sort();
}

const label = fc.constantFrom('none', 'api', '/a/{b}', 'a "quoted"\\\nname', '__proto__', '200');

test('a tally is shown as the library shows its own counter, scrape after scrape', async () => {
  const scrape = fc.array(fc.tuple(label, label, label), { maxLength: 50 });
  await fc.assert(
    fc.asyncProperty(fc.array(scrape, { maxLength: 4 }), async scrapes => {
      const [ours, theirs] = [new Registry(), new Registry()];
      const labelNames = ['route', 'status', 'outcome'];
      const tally = tallyCounter({ ...about, labelNames, registers: [ours] });
      const counter = new Counter({ ...about, labelNames, registers: [theirs] });
      for (const events of [[], ...scrapes]) {
        for (const [route, status, outcome] of events) {
          tally.of(route).of(status).of(outcome).count++;
          counter.inc({ route, status, outcome });
        }
        expect(await shown(ours)).toEqual(await shown(theirs));
      }
    }),
  );
});

test('a label without a value is left out', async () => {
  const registry = new Registry();
  const tally = tallyCounter({ ...about, labelNames: ['provider', 'kind'], registers: [registry] });
  tally.of('').of('seen').count++;
  tally.of('main').of('seen').count++;
  const lines = (await registry.metrics()).split('\n');
  expect(lines).toContain('weir_things_total{kind="seen"} 1');
  expect(lines).toContain('weir_things_total{provider="main",kind="seen"} 1');
});

test('a tally without labels is shown from the beginning', async () => {
  const registry = new Registry();
  const tally = tallyCounter({ ...about, registers: [registry] });
  expect(await registry.metrics()).toContain('\nweir_things_total 0\n');
  tally.count += 1_234;
  for (let i = 0; i < 2; i++) expect(await registry.metrics()).toContain('\nweir_things_total 1234\n');
});

test('a part that was found is shown from then on, at 0', async () => {
  const registry = new Registry();
  const tally = tallyCounter({ ...about, labelNames: ['kind'], registers: [registry] });
  tally.of('seen').count++;
  tally.of('unseen');
  const text = await registry.metrics();
  expect(text).toContain('weir_things_total{kind="seen"} 1\n');
  expect(text).toContain('weir_things_total{kind="unseen"} 0\n');
});

test('a histogram is shown as the library shows its own, scrape after scrape', async () => {
  const buckets = [0.001, 0.0025, 0.5, 1, 10];
  const value = fc.oneof(fc.constantFrom(0, ...buckets), fc.double({ min: 0, max: 20, noNaN: true }));
  const scrape = fc.array(fc.tuple(label, value), { maxLength: 50 });
  await fc.assert(
    fc.asyncProperty(fc.array(scrape, { maxLength: 4 }), async scrapes => {
      const [ours, theirs] = [new Registry(), new Registry()];
      const tally = tallyHistogram({ ...about, labelNames: ['upstream'], buckets, registers: [ours] });
      const histogram = new Histogram({ ...about, labelNames: ['upstream'], buckets, registers: [theirs] });
      for (const events of [[], ...scrapes]) {
        for (const [upstream, seconds] of events) {
          tally.of(upstream).observe(seconds);
          histogram.observe({ upstream }, seconds);
        }
        expect(await shown(ours)).toEqual(await shown(theirs));
      }
    }),
  );
});
