import { describe, expect, test } from 'vitest';
import type { ForwardRoute } from '../../../../src/config/model/route-model.ts';
import { parseRoutePattern, RouteTable } from '../../../../src/config/routing/index.ts';
import { preflightRoutes } from '../../../../src/config/settings/compile-routes.ts';
import { atOnce } from '../../../../src/core/index.ts';

/** `POST,PUT /a`, each a route that leaves preflights to its service, unless `+` stands before it. */
function routeOf(line: string) {
  const [, plus, methods, path = ''] = /^(\+)?(?:(\S+) )?(\/\S*)$/.exec(line) ?? [];
  const value = { id: line, cors: plus !== undefined } as ForwardRoute;
  return { pattern: parseRoutePattern(path, methods?.split(',') ?? null), value };
}

function taker(lines: readonly string[], asked: string, path: string): string | undefined {
  return new RouteTable(atOnce(preflightRoutes(lines.map(routeOf)))).find(asked, '', path)?.value.id;
}

describe('a preflight is taken', () => {
  test('by the route of the method that is asked for', () => {
    expect(taker(['GET /a', 'POST /a'], 'POST', '/a')).toBe('POST /a');
    expect(taker(['GET /a', '/a'], 'GET', '/a')).toBe('GET /a');
  });

  test('by some route of the path where none names that method', () => {
    expect(taker(['GET /a', 'POST /a'], 'DELETE', '/a')).toBe('GET /a');
    expect(taker(['GET /a', '/a'], 'DELETE', '/a')).toBe('/a');
    expect(taker(['POST /{x}', '/**'], 'DELETE', '/a')).toBe('POST /{x}');
  });

  test('by the route that names OPTIONS before all others of the path', () => {
    expect(taker(['POST /a', 'OPTIONS,GET /a'], 'POST', '/a')).toBe('OPTIONS,GET /a');
    expect(taker(['/a', 'OPTIONS /A/'], 'POST', '/a')).toBe('OPTIONS /A/');
  });

  test('not by routes whose preflights the gateway answers', () => {
    expect(taker(['+POST /a', '+/b'], 'POST', '/a')).toBeUndefined();
    expect(taker(['+OPTIONS /a', 'POST /a'], 'OPTIONS', '/a')).toBe('POST /a');
  });
});
