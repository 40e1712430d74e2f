import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AddressChange,
  askedAddress,
  clientLocation,
} from '../../../../src/wire/http/client-location.ts';
import { type RequestHead, servicePath } from '../../../../src/wire/http/index.ts';
import { played, runs } from '../../../support/runs.ts';

function change(
  prefix: string,
  base: string,
  target: string,
  more: Partial<AddressChange> = {},
): AddressChange {
  return {
    paths: { strippedPrefix: prefix, strippedSegments: prefix.split('/').length - 1, base },
    endpoints: [
      { host: '10.0.0.3', port: 3000 },
      { host: 'api.internal', port: 80 },
    ],
    endpoint: '10.1.1.1:3000',
    target,
    host: 'public.test',
    client: { scheme: 'https', host: 'public.test' },
    ...more,
  };
}

test.each([
  ['https,http', 'https'],
  ['HTTPS', 'https'],
  [' http , https', 'http'],
  ['wss', 'http'],
  ['', 'http'],
  [null, 'http'],
])(
  'the scheme of the client is what the first proxy says, in any letter case: %s',
  (forwardedProto, scheme) => {
    const head = { forwardedProto, forwardedHost: null } as RequestHead;
    expect(askedAddress(head, 'a.test', 'http')).toEqual({ scheme, host: 'a.test' });
  },
);

describe('a Location of the service, sent /x/y?z=/w without /api', () => {
  const at = change('/api', '', '/x/y?z=/w');

  test.each([
    // Its own host: as it was sent, as the client wrote it, as it listens.
    ['http://public.test/a?b#c', 'https://public.test/api/a?b#c'],
    ['https://PUBLIC.test:443/a', 'https://public.test/api/a'],
    ['http://public.test:80', 'https://public.test/api/'],
    ['http://public.test?b', 'https://public.test/api/?b'],
    ['//public.test/a', 'https://public.test/api/a'],
    ['http://10.0.0.3:3000/a', 'https://public.test/api/a'],
    ['http://10.1.1.1:3000/a', 'https://public.test/api/a'],
    ['HTTP://Api.Internal/a', 'https://public.test/api/a'],
    ['http://public.test:3000/a/', 'https://public.test/api/a/'],
    // Its own paths.
    ['/a', '/api/a'],
    ['/', '/api/'],
    ['/a?next=http://other.test/b', '/api/a?next=http://other.test/b'],
    ['/a b?c/../d', '/api/a b?c/../d'],
    ['/api/a', '/api/api/a'],
    ['//', '//'],
    ['/a/../../b/.', '/api/b/'],
    ['/a/%2E%2e/b', '/api/b'],
    ['/..', '/api/'],
    ['a', '/api/x/a'],
    ['./a', '/api/x/a'],
    ['../a', '/api/a'],
    ['../../../a?b', '/api/a?b'],
    ['..', '/api/'],
    // The same path for the client.
    ['', ''],
    ['?page=2', '?page=2'],
    ['#part', '#part'],
  ])('%j becomes %j', (location, changed) => {
    expect(clientLocation(location, at)).toBe(changed);
  });

  test.each([
    ...['http://other.test/a', 'https://public.test.other.test/a', 'http://public.test:8080/a'],
    ...['http://public.test:443/a', 'http://10.0.0.3/a', 'http://10.0.0.3:3001/a'],
    ...['http://user@public.test/a', 'http://public.test@other.test/a'],
    ...['http://public.test:x/a', 'http://public.test\\@other.test/a', 'http://[public.test]/a'],
    ...['http:///a', 'http:a', 'mailto:a@public.test', 'javascript:alert(1)', '/\\other.test/a'],
    ...['\\\\other.test/a', '/\t/other.test/a', '//other.test/a'],
  ])('%j leads elsewhere and stays', location => {
    expect(clientLocation(location, at)).toBe(location);
  });

  test.each([
    ['http://[2001:DB8::7]:3000/a', { endpoints: [{ host: '2001:db8::7', port: 3000 }] }],
    ['https://tls.internal/a', { endpoints: [{ host: 'tls.internal', port: 443 }] }],
  ])('%j is where it listens', (location, more) => {
    expect(clientLocation(location, { ...at, ...more })).toBe('https://public.test/api/a');
  });

  test.each(['public.test:8080', 'public.test:8443'])('stays without the port of %s', client => {
    const away = { ...at, host: 'internal', client: { scheme: 'https', host: client } as const };
    for (const location of ['http://public.test/a', 'https://public.test/a'])
      expect(clientLocation(location, away)).toBe(location);
  });
});

describe('a Location of a service with a path in its URL', () => {
  test.each([
    ['/api', '/base/x', '/base/a', '/api/a'],
    ['/api', '/base/x', '/base', '/api'],
    ['/api', '/base/x', '/base?b', '/api?b'],
    ['/api', '/base/x', '/base/', '/api/'],
    ['/api', '/base/x', 'a', '/api/a'],
    ['/api', '/base/x', 'http://10.0.0.3:3000/base/a', 'https://public.test/api/a'],
    ['', '/base/x', '/base/a', '/a'],
    ['', '/base/x', '/base', '/'],
    ['', '/base/x', '/base?b', '/?b'],
    // The root of a prefix has no slash for the client.
    ['/api', '/base/', 'a', '/api/a'],
  ])('%j: of %j, %j becomes %j', (prefix, target, location, changed) => {
    expect(clientLocation(location, change(prefix, '/base', target))).toBe(changed);
  });

  test.each([
    ...['/a', '/baseball', '/Base/a', '/base/../a', '/base/%2e%2E/a'],
    ...['../a', 'http://public.test/a', 'http://public.test/base/../a'],
  ])('stays if it leads outside that path: %j', location => {
    expect(clientLocation(location, change('/api', '/base', '/base/x'))).toBe(location);
  });

  test.each(['/base//other.test/a', 'http://public.test/base//other.test/a', '/base/x/..//other.test'])(
    'never becomes one of another host: %j',
    location => {
      expect(clientLocation(location, change('', '/base', '/base/x'))).toBe(location);
    },
  );
});

describe('a client that follows a Location', () => {
  const piece = fc.constantFrom(
    '/',
    '/',
    'a',
    'B',
    '.',
    '..',
    '/..',
    '/base',
    'base',
    '//',
    '?q',
    '#f',
    ':',
    '@',
    '%2e',
    '\\',
    '\t',
    'http:',
    'https:',
    'http://public.test',
    'http://10.0.0.3:3000',
    '//other.test',
    '//public.test',
    'other.test',
    ':3000',
    ':80',
  );
  const location = fc.array(piece, { maxLength: 7 }).map(pieces => pieces.join(''));
  const own = [
    ...['public.test', 'public.test:443', 'public.test:80'],
    ...['public.test:3000', '10.0.0.3:3000', '10.1.1.1:3000', 'api.internal'],
  ];

  test('reaches what the service meant, and no other host than the one that it meant', () => {
    let changes = 0;
    fc.assert(
      fc.property(
        location,
        fc.constantFrom('', '/api'),
        fc.constantFrom('', '/base'),
        (location, prefix, base) => {
          const paths = { strippedPrefix: prefix, strippedSegments: prefix.split('/').length - 1, base };
          const changed = clientLocation(location, change(prefix, base, `${base}/x/y`));
          if (changed === location) return;
          changes++;
          const meant = new URL(location, `http://public.test${base}/x/y`);
          expect(own).toContain(meant.host);
          const followed = new URL(changed, `https://public.test${prefix}/x/y`);
          expect(followed.origin).toBe('https://public.test');
          expect(`${followed.pathname}/`.startsWith(`${prefix}/`)).toBe(true);
          const sent = servicePath(followed.pathname, paths);
          // The path of the URL alone, /base, is sent with a slash.
          expect([meant.pathname, `${meant.pathname}/`]).toContain(sent);
          expect(followed.search + followed.hash).toBe(meant.search + meant.hash);
        },
      ),
      played(30_000),
    );
    expect(changes).toBeGreaterThan(0.02 * runs(30_000));
  });

  test('is not held up by a long one', () => {
    const long = `/${'a'.repeat(30_000)}`;
    expect(clientLocation(long, change('/api', '', `${long}/${'b'.repeat(30_000)}`))).toBe(`/api${long}`);
  });
});
