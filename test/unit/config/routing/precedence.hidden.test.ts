import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  findConflicts,
  findHidden,
  parseRoutePattern,
  RouteTable,
} from '../../../../src/config/routing/index.ts';
import { played } from '../../../support/runs.ts';

function patternOf(line: string) {
  const [methods, path] = line.startsWith('/') ? [null, line] : line.split(' ');
  return parseRoutePattern(path ?? '', methods?.split(',') ?? null);
}

function hidden(...lines: string[]) {
  return findHidden(lines.map(patternOf));
}

test('a chain without a gap hides the rest', () => {
  expect(hidden('/a/**', '/a/{x}/**', '/a')).toEqual([{ index: 0, hiddenBy: [2, 1] }]);
  expect(hidden('/**', '/', '/{x}', '/{x}/{y}/**')).toEqual([{ index: 0, hiddenBy: [1, 2, 3] }]);
});

test('a gap, or a literal in place of a parameter, hides nothing', () => {
  expect(hidden('/a/**', '/a/{x}/**')).toEqual([]);
  expect(hidden('/a/**', '/a', '/a/{x}/{y}/**')).toEqual([]);
  expect(hidden('/a/**', '/a', '/a/b/**')).toEqual([]);
});

test('a route is hidden for all of its methods or not at all', () => {
  expect(hidden('GET,POST /a/**', 'GET /a', 'GET /a/{x}/**')).toEqual([]);
  expect(hidden('GET,POST /a/**', 'GET /a', 'POST /a', '/a/{x}/**')).toEqual([
    { index: 0, hiddenBy: [1, 3, 2] },
  ]);
  expect(hidden('/a/**', 'GET,HEAD,POST /a', '/a/{x}/**')).toEqual([]);
});

test('GET hides HEAD', () => {
  expect(hidden('HEAD /**', 'GET /', 'GET /{x}/**')).toEqual([{ index: 0, hiddenBy: [1, 2] }]);
  expect(hidden('GET /**', 'HEAD /', 'HEAD /{x}/**')).toEqual([]);
});

test('a route is hidden exactly if no request reaches it', () => {
  const path = fc.constantFrom(
    '/',
    '/a',
    '/{x}',
    '/**',
    '/a/**',
    '/{x}/**',
    '/a/{x}',
    '/{x}/{y}',
    '/a/{x}/**',
    '/{x}/{y}/**',
  );
  const methods = fc.constantFrom('', '', 'GET ', 'HEAD ', 'GET,POST ');
  const deeper = (paths: readonly string[]) => paths.flatMap(path => [`${path}/a`, `${path}/other`]);
  const [one, two] = [deeper(['']), deeper(deeper(['']))];
  const paths = ['/', ...one, ...two, ...deeper(two), ...deeper(deeper(two))];
  const lines = fc.uniqueArray(
    fc.tuple(methods, path).map(parts => parts.join('')),
    { maxLength: 10 },
  );
  fc.assert(
    fc.property(lines, lines => {
      const patterns = lines.map(patternOf);
      fc.pre(findConflicts(patterns).length === 0);
      const table = new RouteTable(patterns.map((pattern, value) => ({ pattern, value })));
      const reached = new Set(
        ['GET', 'HEAD', 'POST', 'BREW'].flatMap(method =>
          paths.map(path => table.find(method, '', path)?.value),
        ),
      );
      const unreached = lines.flatMap((_, index) => (reached.has(index) ? [] : [index]));
      expect(findHidden(patterns).map(route => route.index)).toEqual(unreached);
    }),
    played(3_000),
  );
});
