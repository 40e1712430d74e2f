import { expect, onTestFinished, test } from 'vitest';
import { fuzzHpack } from '../support/fuzz/hpack-fuzz.ts';
import { ReadersOfGo } from '../support/fuzz/read-with-go.ts';
import { headers, PREFACE, request, settings } from '../support/http2-frames.ts';
import { runs, seedOfRun } from '../support/runs.ts';

const BLOCKS = runs(1_500);

test('the reader of Go comes to an end where a refusal of its own waits for the window', async () => {
  const go = new ReadersOfGo();
  onTestFinished(() => go.end());
  const refused = headers(1, [...request(), ['te', 'gzip']]);
  const bytes = Buffer.concat([Buffer.from(PREFACE), settings([4, 0]), refused, headers(3, request('/b'))]);
  const { readings } = await go.http2Requests(bytes);
  expect([...readings.keys()]).toEqual([3]);
});

test(`of the header blocks of ${BLOCKS} connections, ours and Go's HPACK make the same`, async () => {
  const { decoded, refused, findings } = await fuzzHpack({ seed: seedOfRun(), cases: BLOCKS });
  expect(findings).toEqual([]);
  expect(decoded).toBeGreaterThan(3 * BLOCKS);
  expect(refused).toBeGreaterThan(0.5 * BLOCKS);
});
