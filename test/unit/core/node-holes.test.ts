import { expect, test } from 'vitest';
import { nodeHoles } from '../../../src/core/index.ts';

test.each([
  ['24.14.0', 6],
  ['24.16.9', 4],
  ['24.17.0', 3],
  ['24.18.1', 2],
  ['24.21.0', 2],
  ['24.22.0', 2],
  ['24.22.1', 0],
  ['24.23.0', 0],
  ['25.8.1', 6],
  ['25.8.2', 4],
  ['26.3.0', 4],
  ['26.3.1', 3],
  ['26.5.1', 2],
  ['26.12.0', 2],
  ['26.12.1', 0],
  ['27.0.0', 0],
])('Node.js %s has %i kinds of known holes', (version, count) =>
  expect(nodeHoles(version)).toHaveLength(count),
);

test('a hole is told with its names and the version to take', () => {
  expect(nodeHoles('24.21.0')[1]).toBe(
    'a name with a NUL is looked up cut off (CVE-2026-105482): take 24.22.1',
  );
});

test('a line that gets no mended versions is told to be left', () => {
  expect(nodeHoles('25.9.0')[0]).toContain('take 26.12.1, since line 25 gets no mended versions');
});
