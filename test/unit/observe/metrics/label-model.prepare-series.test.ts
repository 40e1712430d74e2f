import { expect, test } from 'vitest';
import { atOnce } from '../../../../src/core/index.ts';
import { MAX_PREPARED_LINES, prepareSeries } from '../../../../src/observe/metrics/label-model.ts';
import { Tally } from '../../../../src/observe/metrics/metric-set.ts';

/** The series of a tally with two labels. */
function series(tally: Tally): Record<string, number> {
  const found: Record<string, number> = {};
  for (const [first, part] of tally.parts)
    for (const [second, { count }] of part.parts) found[`${first} ${second}`] = count;
  return found;
}

test('series are there from the start, and keep their counts when they are prepared again', () => {
  const tally = new Tally();
  const rows = [
    ['things', 'bot'],
    ['things', 'user'],
  ];
  atOnce(prepareSeries(tally, rows, 0));
  tally.of('things').of('user').count = 7;
  tally.of('things').of('address').count = 1;
  atOnce(prepareSeries(tally, rows, 0));
  expect(series(tally)).toEqual({ 'things bot': 0, 'things user': 7, 'things address': 1 });
});

test('series of what is configured no longer go, whichever label names it', () => {
  const tally = new Tally();
  for (const [side, upstream] of [
    ['client', 'old'],
    ['upstream', 'old'],
    ['client', 'kept'],
    ['client', 'none'],
  ] as const)
    tally.of(side).of(upstream).count = 3;
  const rows = [
    ['client', 'none'],
    ['client', 'kept'],
    ['gateway', 'new'],
  ];
  atOnce(prepareSeries(tally, rows, 1));
  expect(series(tally)).toEqual({ 'client kept': 3, 'client none': 3, 'gateway new': 0 });
});

test('more series than a scrape should carry are not prepared, but those of removed things still go', () => {
  const tally = new Tally();
  tally.of('old').of('a').count = 1;
  tally.of('route 7').of('a').count = 1;
  const rows = Array.from({ length: MAX_PREPARED_LINES / 10 + 1 }, (_, i) => [`route ${i}`, 'a']);
  atOnce(prepareSeries(tally, rows, 0, 10));
  expect(series(tally)).toEqual({ 'route 7 a': 1 });
  atOnce(prepareSeries(tally, rows, 0, 9));
  expect(Object.keys(series(tally))).toHaveLength(rows.length);
});
