import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findConflicts, parseRoutePattern } from '../../../../src/config/routing/index.ts';
import { writtenRoute } from './reference-matcher.ts';

function conflicts(...routes: (readonly [path: string, ...methods: string[]])[]) {
  return findConflicts(
    routes.map(([path, ...methods]) => parseRoutePattern(path, methods.length === 0 ? null : methods)),
  );
}

test('routes that differ in parameter names, letter case, escapes or a trailing slash only are the same', () => {
  expect(conflicts(['/a/{x}/b'], ['/A/{y}/b/'])).toEqual([[0, 1]]);
  expect(conflicts(['/a:b'], ['/A%3AB'])).toEqual([[0, 1]]);
  expect(conflicts(['/**'], ['/**/'])).toEqual([[0, 1]]);
});

test('routes of one path conflict when they share a method', () => {
  expect(conflicts(['/a', 'GET', 'POST'], ['/b'], ['/a', 'PUT', 'POST'])).toEqual([[0, 2]]);
  expect(conflicts(['/a', 'GET'], ['/a', 'POST'], ['/a', 'GET', 'POST'])).toEqual([
    [0, 2],
    [1, 2],
  ]);
});

test('of three equal routes, each later one is paired with the first', () => {
  expect(conflicts(['/a'], ['/a'], ['/a'])).toEqual([
    [0, 1],
    [0, 2],
  ]);
});

test('HEAD and GET, one method and every method, a literal and a parameter do not conflict', () => {
  expect(conflicts(['/a', 'GET'], ['/a', 'HEAD'], ['/a'], ['/{x}'], ['/**'], ['/'])).toEqual([]);
});

test('an escaped pattern character has no special meaning', () => {
  expect(conflicts(['/{x}'], ['/%7B%7D'], ['/**'], ['/%2A%2A'])).toEqual([]);
  expect(conflicts(['/a/b'], ['/a=b'])).toEqual([]);
});

test('the order of the routes does not decide whether they conflict', () => {
  fc.assert(
    fc.property(writtenRoute, writtenRoute, (a, b) => {
      const forth = conflicts([a.path, ...(a.methods ?? [])], [b.path, ...(b.methods ?? [])]);
      const back = conflicts([b.path, ...(b.methods ?? [])], [a.path, ...(a.methods ?? [])]);
      expect(forth).toEqual(back);
    }),
  );
});
