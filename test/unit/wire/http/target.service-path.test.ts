import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRoutePattern, RouteTable } from '../../../../src/config/routing/index.ts';
import { parseTarget, servicePath } from '../../../../src/wire/http/index.ts';
import { played, runs } from '../../../support/runs.ts';

function change(prefix: string, base: string) {
  return { strippedPrefix: prefix, strippedSegments: prefix.split('/').length - 1, base };
}

describe('the path that a service is sent', () => {
  test.each([
    ['/a/b', '', '', '/a/b'],
    ['/', '', '', '/'],
    ['/api/x', '/api', '', '/x'],
    ['/API/X', '/api', '', '/X'],
    ['/api', '/api', '', '/'],
    ['/api/', '/api', '', '/'],
    ['/api/x/', '/api', '', '/x/'],
    ['/api/v1/x', '/api/v1', '', '/x'],
    ['/api/v1', '/api/v1', '', '/'],
    ['/api;v=1/x', '/api', '', '/x'],
    ['/%C3%89/x', '/%C3%A9', '', '/x'],
    ['/x', '', '/base', '/base/x'],
    ['/', '', '/base', '/base/'],
    ['/api', '/api', '/base', '/base/'],
    ['/api/x', '/api', '/base/v2', '/base/v2/x'],
  ])('for %s without %j behind %j is %s', (path, prefix, base, sent) => {
    expect(servicePath(path, change(prefix, base))).toBe(sent);
  });

  const segment = fc.constantFrom(
    'a',
    'B',
    'api',
    'API',
    'v1',
    '%C3%A9',
    '%c3%a9',
    '%61',
    '%41pi',
    'x;y',
    'a%3b',
    '...',
    '%25',
    ':',
    '%2e',
    '%ff',
  );
  const target = fc
    .tuple(fc.array(segment, { minLength: 1, maxLength: 5 }), fc.constantFrom('', '/'))
    .map(([segments, end]) => `/${segments.join('/')}${end}`);
  const prefix = fc.constantFrom(
    '/a',
    '/api',
    '/API',
    '/a/b',
    '/api/v1',
    '/%C3%A9',
    '/%C3%A9/a',
    '/%25',
    '/...',
  );
  const base = fc.constantFrom('', '/base', '/api', '/a/b', '/%C3%A9');

  test('is canonical, and made of what was routed: base, and the segments behind the prefix that matched', () => {
    let routed = 0;
    fc.assert(
      fc.property(target, prefix, base, (target, prefix, base) => {
        const read = parseTarget(target, 'a.test');
        if ('rejected' in read) return;
        const pattern = parseRoutePattern(`${prefix}/**`, null);
        if (new RouteTable([{ pattern, value: 1 }]).find('GET', '', read.path) === null) return;
        routed++;
        const sent = servicePath(read.path, change(prefix, base));
        expect(parseTarget(sent, 'a.test')).toMatchObject({ path: sent });
        const kept = read.path.split('/').slice(1 + pattern.segments.length - 1);
        expect(sent).toBe(`${base}/${kept.join('/')}`);
      }),
      played(20_000),
    );
    expect(routed).toBeGreaterThan(0.02 * runs(20_000));
  });
});
