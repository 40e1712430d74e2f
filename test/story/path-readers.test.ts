import { expect, test } from 'vitest';
import { fuzzPaths } from '../support/fuzz/path-readers/path-fuzz.ts';
import { pathReaders } from '../support/fuzz/path-readers/services.ts';
import { runs, seedOfRun } from '../support/runs.ts';

// test/long/path-readers.test.ts asks services in other languages.
test('no path leads a service in Node to a resource of a guarded route', async () => {
  const setups = runs(200, 8);
  const { findings, warned, odd } = await fuzzPaths(await pathReaders.node(), {
    seed: seedOfRun(),
    setups,
    pathsEach: 80,
  });
  expect(findings).toEqual([]);
  // Else the paths would prove little.
  expect(warned).not.toEqual([]);
  expect(odd).toBeGreaterThan(2 * setups);
});
