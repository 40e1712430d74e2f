import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  EVERY_HOST,
  findConflicts,
  findHidden,
  HostNames,
  parseGrpcPattern,
  parseRoutePattern,
  Reach,
  type RouteEntry,
  RouteTable,
} from '../../../../src/config/routing/index.ts';
import { referenceFind, requestMethod, requestPath, writtenRoute } from './reference-matcher.ts';

/** `api.test/v1/x`, `/v1/x` or `* /v1/x`, perhaps with methods in front; the value is what was written. */
function entryOf(line: string): RouteEntry<string> {
  const [, methods, host = null, path = ''] = /^(?:([A-Z,]+) )?([^/ ]+ ?)?(\/.*)$/.exec(line) ?? [];
  const pattern = parseRoutePattern(path, methods?.split(',') ?? null, host?.trim() ?? null);
  return { pattern, value: line };
}

const tableOf = (...lines: string[]) => new RouteTable(lines.map(entryOf));
const patternsOf = (...lines: string[]) => lines.map(line => entryOf(line).pattern);

const hosts = fc.constantFrom('a.test', 'b.test', '*.test', '*.a.test', null, EVERY_HOST);
const routes = fc.array(fc.record({ route: writtenRoute, host: hosts }), { maxLength: 14 });
const asked = fc.constantFrom('a.test', 'b.test', 'c.test', 'x.a.test', 'test', 'y.x.a.test', '[::1]', '');

describe('a route table with hosts', () => {
  test('finds what trying every route of the most specific host, then of the next, would find', () => {
    fc.assert(
      fc.property(routes, asked, requestMethod, requestPath, (written, host, method, path) => {
        const entries = written.map(({ route, host }, value) => ({
          pattern: parseRoutePattern(route.path, route.methods, host),
          value,
        }));
        const later = new Set(findConflicts(entries.map(({ pattern }) => pattern)).map(pair => pair[1]));
        const sound = entries.filter(({ value }) => !later.has(value));
        // Where no pattern names a host, those of every host stand among the others, and checks keep them apart.
        fc.pre(sound.some(({ pattern: { host } }) => host !== null && host !== EVERY_HOST));
        const table = new RouteTable(sound);
        const wildcard = host.replace(/^[^.]*/, '*');
        const tiers = [EVERY_HOST, host, host.includes('.') ? wildcard : '-', null];
        const expected = tiers
          .map(tier => {
            const of = sound.filter(({ pattern }) => pattern.host === tier);
            const index = referenceFind(
              of.map(({ pattern }) => pattern),
              method,
              path,
            );
            return index === null ? null : (of[index]?.value ?? null);
          })
          .find(value => value !== null);
        expect(table.find(method, host, path)?.value ?? null).toBe(expected ?? null);
      }),
    );
  });

  test('asks the host, then its wildcard, then the routes without a host', () => {
    const table = tableOf('a.test/x', '*.test/x', '/x', '*.test/y', '/y', '/z');
    expect(table.find('GET', 'a.test', '/x')?.value).toBe('a.test/x');
    expect(table.find('GET', 'b.test', '/x')?.value).toBe('*.test/x');
    expect(table.find('GET', 'a.test', '/y')?.value).toBe('*.test/y');
    expect(table.find('GET', 'a.test', '/z')?.value).toBe('/z');
    expect(table.find('GET', 'c.a.test', '/x')?.value).toBe('/x');
    expect(table.find('GET', 'test', '/x')?.value).toBe('/x');
    expect(table.find('GET', 'a.test', '/none')).toBeNull();
  });

  test('a less specific path of the host goes before a more specific one without a host', () => {
    const table = tableOf('POST a.test/**', '/v1/x');
    expect(table.find('POST', 'a.test', '/v1/x')?.value).toBe('POST a.test/**');
    expect(table.find('GET', 'a.test', '/v1/x')?.value).toBe('/v1/x');
  });

  test('what holds on every host goes before all others, and what is closed is closed on every host', () => {
    const closed = parseRoutePattern('/v1/anonymous/**', null);
    const table = new RouteTable(
      ['a.test/**', '/v1/**', '* /v1/anonymous/auth', 'b.test/v1/anonymous/of-b', '/v1/anonymous/of-all'].map(
        entryOf,
      ),
      [closed],
    );
    expect(table.find('POST', 'a.test', '/V1/Anonymous/auth')?.value).toBe('* /v1/anonymous/auth');
    expect(table.find('POST', 'a.test', '/v1/anonymous/auth%20')).toBeNull();
    expect(table.find('POST', 'other.test', '/v1/anonymous/auth%20')).toBeNull();
    expect(table.find('POST', 'b.test', '/v1/anonymous/of-b')?.value).toBe('b.test/v1/anonymous/of-b');
    expect(table.find('POST', 'a.test', '/v1/anonymous/of-b')).toBeNull();
    expect(table.find('POST', 'a.test', '/v1/anonymous/of-all')?.value).toBe('/v1/anonymous/of-all');
    const withoutHosts = tableOf('/**', '* /own');
    expect(withoutHosts.find('POST', 'a.test', '/own')?.value).toBe('* /own');
    expect(withoutHosts.find('POST', 'a.test', '/other')?.value).toBe('/**');
  });

  test('keeps gRPC calls apart by host as well', () => {
    const table = new RouteTable([
      { pattern: parseGrpcPattern('a.B/*', 'a.test'), value: 'host' },
      { pattern: parseGrpcPattern('a.B/C'), value: 'none' },
    ]);
    expect(table.find('GRPC', 'a.test', '/a.B/C')?.value).toBe('host');
    expect(table.find('GRPC', 'b.test', '/a.B/C')?.value).toBe('none');
    expect(table.find('GRPC', 'b.test', '/a.B/D')).toBeNull();
  });
});

describe('patterns with hosts', () => {
  test('conflict only on one host', () => {
    expect(findConflicts(patternsOf('a.test/x', 'b.test/x', '*.test/x', '/x', 'a.test/X/'))).toEqual([
      [0, 4],
    ]);
  });

  test('are hidden only by those of the same host', () => {
    expect(findHidden(patternsOf('a.test/x', 'a.test/x/{y}/**', '/x/**', '*.test/x/**'))).toEqual([]);
    expect(findHidden(patternsOf('a.test/x', 'a.test/x/{y}/**', 'a.test/x/**'))).toEqual([
      { index: 2, hiddenBy: [0, 1] },
    ]);
  });

  test('serve the requests of a line that may have their host', () => {
    const takers = (line: string, ...routes: string[]) =>
      new Reach(patternsOf(...routes)).takersOf(entryOf(line).pattern).map(index => routes[index]);
    const routes = ['a.test/x', '*.test/x', '/x', 'b.other/x', 'a.test/**'];
    expect(takers('/x', ...routes)).toEqual(routes.slice(0, 4).concat('a.test/**'));
    expect(takers('a.test/x', ...routes)).toEqual(['a.test/x']);
    expect(takers('a.test/y', ...routes)).toEqual(['a.test/**']);
    expect(takers('*.test/x', ...routes)).toEqual(['a.test/x', '*.test/x', 'a.test/**']);
    expect(takers('c.test/y', ...routes)).toEqual([]);
    expect(takers('c.other/x', ...routes)).toEqual(['/x']);
    expect(takers('a.test/own', 'a.test/**', '* /own')).toEqual(['* /own']);
  });
});

test('hosts are named as patterns name them, by a wildcard or not at all', () => {
  const names = HostNames.in([entryOf('a.test/x'), entryOf('*.test/y'), entryOf('/z'), entryOf('* /own')]);
  expect(names?.nameOf('a.test')).toBe('a.test');
  expect(names?.nameOf('b.test')).toBe('*.test');
  expect(names?.nameOf('*.test')).toBe('*.test');
  expect(names?.nameOf('c.b.test')).toBeNull();
  expect(names?.nameOf('other')).toBeNull();
  expect(HostNames.in([entryOf('/z'), entryOf('* /own')])).toBeNull();
});
