import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  findConflicts,
  parseRoutePattern,
  type RouteEntry,
  RouteTable,
} from '../../../../src/config/routing/index.ts';
import { parseTarget } from '../../../../src/wire/http/target.ts';
import { played } from '../../../support/runs.ts';
import {
  referenceFind,
  referenceParams,
  requestMethod,
  requestPath,
  type WrittenRoute,
  writtenRoute,
} from './reference-matcher.ts';

/** `GET,POST /v1/x` or `/v1/x`; the value of each route is what was written. */
function tableOf(...lines: string[]): RouteTable<string> {
  return new RouteTable(lines.map(entryOf));
}

function entryOf(line: string): RouteEntry<string> {
  const [methods, path] = line.startsWith('/') ? [null, line] : line.split(' ');
  return { pattern: parseRoutePattern(path ?? '', methods?.split(',') ?? null), value: line };
}

function patternOrNull(path: string) {
  try {
    return parseRoutePattern(path, null);
  } catch {
    return null;
  }
}

function withoutConflicts(routes: readonly WrittenRoute[]): WrittenRoute[] {
  const later = new Set(
    findConflicts(routes.map(route => parseRoutePattern(route.path, route.methods))).map(pair => pair[1]),
  );
  return routes.filter((_, index) => !later.has(index));
}

describe('a route table', () => {
  test('finds what trying every route would find', () => {
    fc.assert(
      fc.property(
        fc.array(writtenRoute, { maxLength: 12 }).map(withoutConflicts),
        fc.array(fc.tuple(requestMethod, requestPath), { minLength: 1, maxLength: 20 }),
        (routes, requests) => {
          const table = new RouteTable(
            routes.map((route, value) => ({ pattern: parseRoutePattern(route.path, route.methods), value })),
          );
          for (const [method, path] of requests) {
            const expected = referenceFind(routes, method, path);
            const params = expected === null ? [] : referenceParams(routes[expected]?.path ?? '', path);
            expect(table.find(method, '', path)).toEqual(
              expected === null ? null : { value: expected, params },
            );
          }
        },
      ),
      played(2_000),
    );
  });

  test('prefers a literal to a parameter and a parameter to the rest, from the left', () => {
    const table = tableOf(
      '/v1/{a}/messages',
      '/v1/users/{b}',
      '/v1/users/**',
      '/v1/**',
      '/{a}/users/messages',
    );
    expect(table.find('GET', '', '/v1/users/messages')?.value).toBe('/v1/users/{b}');
    expect(table.find('GET', '', '/v1/bots/messages')?.value).toBe('/v1/{a}/messages');
    expect(table.find('GET', '', '/v1/users/1/2')?.value).toBe('/v1/users/**');
    expect(table.find('GET', '', '/v2/users/messages')?.value).toBe('/{a}/users/messages');
  });

  test('backtracks from a literal that leads nowhere', () => {
    const table = tableOf('/a/b/c', '/a/{x}/d', '/{y}/b/e', '/**');
    expect(table.find('GET', '', '/a/b/d')).toEqual({ value: '/a/{x}/d', params: ['b'] });
    expect(table.find('GET', '', '/a/b/e')).toEqual({ value: '/{y}/b/e', params: ['a'] });
    expect(table.find('GET', '', '/a/b/f')).toEqual({ value: '/**', params: [] });
  });

  test('gives a catch-all the methods that a more specific path does not name', () => {
    const table = tableOf('GET /v1/things', '/v1/**');
    expect(table.find('GET', '', '/v1/things')?.value).toBe('GET /v1/things');
    expect(table.find('POST', '', '/v1/things')?.value).toBe('/v1/**');
  });

  test('prefers the route that names the method to the one for every method', () => {
    const table = tableOf('/v1/things', 'POST /v1/things');
    expect(table.find('POST', '', '/v1/things')?.value).toBe('POST /v1/things');
    expect(table.find('GET', '', '/v1/things')?.value).toBe('/v1/things');
  });

  test('treats HEAD as GET, even before a catch-all that names HEAD', () => {
    const table = tableOf('GET /v1/things', 'HEAD /v1/**');
    expect(table.find('HEAD', '', '/v1/things')?.value).toBe('GET /v1/things');
  });

  test.each([
    ['GET /a', 'HEAD /a'],
    ['HEAD /a', 'GET /a'],
  ])('gives HEAD to the route that names it with %s and %s', (...lines) => {
    expect(tableOf(...lines).find('HEAD', '', '/a')?.value).toBe('HEAD /a');
    expect(tableOf(...lines).find('GET', '', '/a')?.value).toBe('GET /a');
  });

  test('gives an unknown method to routes for every method only', () => {
    const table = tableOf('GET,POST /a/b', '/a/{x}');
    expect(table.find('BREW', '', '/a/b')).toEqual({ value: '/a/{x}', params: ['b'] });
    expect(tableOf('GET /a').find('BREW', '', '/a')).toBeNull();
  });

  test('matches ** with no segment, one, or many', () => {
    const table = tableOf('/v1/**');
    for (const path of ['/v1', '/v1/', '/v1/a', '/v1/a/b/c/d'])
      expect(table.find('GET', '', path)?.value).toBe('/v1/**');
    expect(table.find('GET', '', '/v11')).toBeNull();
    expect(table.find('GET', '', '/')).toBeNull();
    expect(tableOf('/**').find('GET', '', '/')?.value).toBe('/**');
  });

  test('lets no route into a closed path that does not name it', () => {
    const closed = [parseRoutePattern('/v1/own/**', null)];
    const table = (...lines: string[]) => new RouteTable(lines.map(entryOf), closed);
    const outside = table('/**', '/v1/**', '/{a}/{b}/{c}', '/v1/{a}/x', '/v1/own/x');
    for (const path of ['/v1/own', '/v1/own/', '/V1/OWN/a', '/v1/own/a/b', '/v1/own/x/y'])
      expect(outside.find('GET', '', path)).toBeNull();
    expect(outside.find('GET', '', '/v1/own/x')?.value).toBe('/v1/own/x');
    expect(outside.find('GET', '', '/v1/owner/a')?.value).toBe('/v1/**');
    const inside = table('/**', 'GET /v1/own/{x}', 'POST /v1/own/**');
    expect(inside.find('GET', '', '/v1/own/a')).toEqual({ value: 'GET /v1/own/{x}', params: ['a'] });
    expect(inside.find('POST', '', '/v1/own/a')?.value).toBe('POST /v1/own/**');
    expect(inside.find('PUT', '', '/v1/own/a')).toBeNull();
    expect(table('/v1/own/**').find('PUT', '', '/v1/own/a')?.value).toBe('/v1/own/**');
  });

  test('ignores one trailing slash, and never takes it for an empty parameter', () => {
    const table = tableOf('/v1/things', '/v1/things/{id}');
    expect(table.find('GET', '', '/v1/things/')?.value).toBe('/v1/things');
    expect(table.find('GET', '', '/v1/things/7/')).toEqual({ value: '/v1/things/{id}', params: ['7'] });
    expect(tableOf('/v1/things/{id}').find('GET', '', '/v1/things/')).toBeNull();
    expect(tableOf('/{id}').find('GET', '', '/')).toBeNull();
    expect(tableOf('/v1/{id}/x').find('GET', '', '/v1//x')).toBeNull();
  });

  test('matches literals in any letter case and keeps the case of parameters', () => {
    const table = tableOf('/v1/Channels/{id}/messages');
    expect(table.find('GET', '', '/V1/CHANNELS/aBc/Messages')?.params).toEqual(['aBc']);
  });

  test.each([
    ['KELVIN SIGN', '/%E2%84%AAeys', '/keys'],
    ['LONG S', '/%C5%BFtats', '/stats'],
    ['DOTTED I', '/%C4%B0d', '/id'],
    ['full width', '/%EF%BC%A1', '/%EF%BD%81'],
    ['an accent', '/CAF%C3%89', '/caf%C3%A9'],
  ])('does not confuse a letter outside ASCII with another: %s', (_, path, literal) => {
    expect(tableOf(literal).find('GET', '', literal)?.value).toBe(literal);
    expect(tableOf(literal).find('GET', '', path)).toBeNull();
  });

  test('treats an escape in a literal as the character it stands for', () => {
    const table = tableOf('/v1/things:all', '/v1/caf%C3%A9', '/v1/**');
    for (const path of ['/v1/things:all', '/v1/things%3Aall', '/v1/%40/..x/a:b/']) {
      expect(table.find('GET', '', path)?.value).toBe(
        path.startsWith('/v1/things') ? '/v1/things:all' : '/v1/**',
      );
    }
    expect(table.find('GET', '', '/v1/CAF%C3%A9')?.value).toBe('/v1/caf%C3%A9');
    expect(table.find('GET', '', '/v1/caf%E9')?.value).toBe('/v1/**');
  });

  test('finds every pattern by its own text, which is a canonical path', () => {
    const text = fc.string({
      unit: fc.constantFrom(...'aZ0-._~:@!$&()+,=', '/', '%3A', '%C3%A9', '%25', '%3a', '%2F', '%41', ';'),
    });
    fc.assert(
      fc.property(text, text => {
        const pattern = patternOrNull(`/${text}`);
        fc.pre(pattern !== null);
        expect(parseTarget(`/${text}`, '')).toEqual({ path: `/${text}`, query: '', semicolon: false });
        expect(new RouteTable([{ pattern, value: 1 }]).find('GET', '', `/${text}`)).toEqual({
          value: 1,
          params: [],
        });
      }),
      played(2_000),
    );
  });

  test('returns parameters as they were sent', () => {
    const table = tableOf('/v1/{a}/x/{b}');
    expect(table.find('GET', '', '/v1/a%2Bb%25/x/%FF')?.params).toEqual(['a%2Bb%25', '%FF']);
  });

  test.each([1, 101, 8_000, 1_000_000])('matches a segment of %i characters like any other', length => {
    const table = tableOf('/v1/{a}/messages', '/v1/**');
    const value = 'm'.repeat(length);
    expect(table.find('GET', '', `/v1/${value}/messages`)).toEqual({
      value: '/v1/{a}/messages',
      params: [value],
    });
  });

  test('matches a long literal in every spelling', () => {
    const table = tableOf(`/${'%E2%82%AC'.repeat(50)}`);
    expect(table.find('GET', '', `/${'%E2%82%AC'.repeat(50)}`)).not.toBeNull();
  });

  test('keeps the parameters of one request apart from those of the next', () => {
    const table = tableOf('/a/{x}');
    const first = table.find('GET', '', '/a/1');
    table.find('GET', '', '/a/2');
    expect(first?.params).toEqual(['1']);
  });

  test('does not let names of object members be routes', () => {
    const table = tableOf('/a');
    for (const name of ['__proto__', 'constructor']) expect(table.find(name, '', `/${name}`)).toBeNull();
  });

  test('finds its way in ten thousand routes', () => {
    const lines = Array.from({ length: 10_000 }, (_, i) => `/v1/area${i % 100}/{id}/thing${i}`);
    const table = tableOf(...lines);
    expect(table.find('GET', '', '/v1/area99/7/thing9999')).toEqual({ value: lines[9_999], params: ['7'] });
    expect(table.find('GET', '', '/v1/area98/7/thing9999')).toBeNull();
  });

  test('cannot be built from routes that conflict', () => {
    expect(() => tableOf('/a/{x}', '/b', '/A/{y}/')).toThrow(
      'routes 0 and 2 match the same requests: /A/{y}/',
    );
  });

  test('finds nothing without routes', () => {
    expect(tableOf().find('GET', '', '/')).toBeNull();
  });
});

test('a literal matches a segment with parameters after a semicolon, so that they bypass no route', () => {
  const routes = new RouteTable([
    { pattern: parseRoutePattern('/v1/admin', null), value: 'admin' },
    { pattern: parseRoutePattern('/v1/**', null), value: 'rest' },
  ]);
  for (const path of ['/v1/admin;x', '/v1/ADMIN;', '/v1/admin%3Bx=1', '/v1;a/admin', '/v1/admin/;x']) {
    expect(routes.find('GET', '', path)?.value).toBe('admin');
  }
});
