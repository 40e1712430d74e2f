import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BareGateway, bareGateway } from '../../../support/bare-gateway.ts';
import { played } from '../../../support/runs.ts';

const OPEN = { authentication: 'none' } as const;
const ROUTES = [
  { path: '/raw/**', ...OPEN, upstream: 'files', encoded_slashes: 'pass', empty_segments: 'pass' },
  {
    path: '/cut/**',
    ...OPEN,
    upstream: 'files',
    encoded_slashes: 'pass',
    empty_segments: 'pass',
    strip_prefix: '/cut',
  },
  { path: '/one/{name}/x', ...OPEN, upstream: 'files', encoded_slashes: 'pass', empty_segments: 'pass' },
  { path: '/merge/**', ...OPEN, upstream: 'api', encoded_slashes: 'pass', empty_segments: 'merge' },
  { path: '/merge-only/**', ...OPEN, upstream: 'api', empty_segments: 'merge' },
  { path: '/merge-only/admin/**', upstream: 'api' },
  {
    path: '/answer/**',
    redirect: { to: '/new/{rest}' },
    upstream: undefined,
    empty_segments: 'pass',
    encoded_slashes: 'pass',
  },
  { path: '/slash/{id}/', ...OPEN, upstream: 'files', empty_segments: 'merge', trailing_slash: 'redirect' },
  { path: '/admin/**', upstream: 'api' },
];

const MERGING = [{ path: '/merge-only/**', ...OPEN, upstream: 'api', empty_segments: 'merge' }];

const start = (limits = {}) =>
  bareGateway(limits, {
    routes: ROUTES,
    config: { upstreams: { api: { url: 'http://127.0.0.1:1' }, files: { url: 'http://127.0.0.1:2' } } },
  });

/** What the service gets, or the status where it gets nothing. */
async function sent(path: string, bare?: BareGateway): Promise<string | number> {
  const gateway = bare ?? (await start());
  const { status } = await gateway.ask(`GET ${path}`);
  return gateway.requests.at(-1)?.target ?? status;
}

describe('encoded_slashes: pass', () => {
  test.each([
    ['/raw/@scope%2fpkg', '/raw/@scope%2Fpkg'],
    ['/raw/group%2Fproject/x?y=%2f/', '/raw/group%2Fproject/x?y=%2f/'],
    ['/cut/a%2Fb', '/a%2Fb'],
    ['/one/a%2Fb/x', '/one/a%2Fb/x'],
    ['/raw/a%252Fb', '/raw/a%252Fb'],
    ['http://a.test/raw/a%2fb', '/raw/a%2Fb'],
  ])('keeps it as a part of its segment: %s', async (path, target) => {
    expect(await sent(path)).toBe(target);
  });

  test.each([
    ...[
      '/raw/%2F',
      '/raw/%2Fa',
      '/raw/a%2F',
      '/raw/a%2F%2Fb',
      '/raw/a%2F..',
      '/raw/..%2Fadmin',
      '/raw/a%2F.%2Fb',
    ],
    ...[
      '/raw/%2e%2e%2fadmin',
      '/raw/%252e%252e%252fadmin',
      '/raw/a%252F..%252Fb',
      '/raw/%252F',
      '/raw/a%252F%252Fb',
    ],
    ...[
      '/raw/%252e%252e/admin',
      '/raw/a%2F%5Cb',
      '/raw/a%5cb',
      '/raw/a%255cb',
      '/raw/a%00',
      '/raw/a%2500b',
      '/raw/a%2F%00',
    ],
    ...[
      '/raw/%25C0%25AF',
      '/raw/%C0%25AF',
      '/raw/a%2F..%3Bx/b',
      '/raw/a%2F;x',
      '/raw%2Fa',
      '/%2Fraw/a',
      '/admin%2Fx',
    ],
  ])('refuses what a service that decodes once or twice would read otherwise: %s', async path => {
    expect(await sent(path)).toBe(400);
  });

  test('holds where a route says so, and there alone', async () => {
    for (const path of [
      '/open/a%2Fb',
      '/merge-only/a%2Fb',
      '/admin/a%2fb',
      '/v1/anonymous/auth%2Fx',
      '/a%2Fb',
    ])
      expect(await sent(path), path).toBe(400);
  });

  test('decodes main values as ever', async () => {
    const limits = { buckets: { b: { main: 'name', address: '1/1h' } }, routes: { '/one/{name}/x': 'b' } };
    const bare = await start(limits);
    const statuses: number[] = [];
    for (const path of ['/one/a%2Fb/x', '/one/%61%2fb/x', '/one/c%2Fb/x', '/one//a%2Fb/x'])
      statuses.push((await bare.ask(`GET ${path}`)).status);
    expect(statuses).toEqual([200, 429, 200, 400]);
  });
});

describe('empty_segments', () => {
  test.each([
    ['/merge-only//a///b//', '/merge-only/a/b/'],
    ['//merge-only/a', '/merge-only/a'],
    ['/merge//a%2Fb', '/merge/a%2Fb'],
    ['/raw//key', '/raw//key'],
    ['/raw/a//b///', '/raw/a//b///'],
    ['/cut/a//b', '/a//b'],
  ])('are merged, or passed where ** takes them: %s', async (path, target) => {
    expect(await sent(path)).toBe(target);
  });

  test.each([
    ...['//raw/a', '/cut//a', '/one//a/x', '/one/a//x', '/one/a/x//', '//one/a/x'],
    ...[
      '/open//a',
      '//evil.example/raw',
      '/raw//..//admin',
      '/raw//./a',
      '//',
      '/admin//x/..',
      '//v1/anonymous/auth',
    ],
  ])('are refused elsewhere: %s', async path => {
    expect(await sent(path)).toBe(400);
  });

  test('are matched by the route for single slashes', async () => {
    for (const path of ['/merge-only//admin/x', '/merge-only/admin//x', '//merge-only//admin'])
      expect(await sent(path), path).toBe(400);
    const admin = { path: '/merge-only/admin/**', upstream: 'api', empty_segments: 'merge' };
    const bare = await bareGateway({}, { routes: [...MERGING, admin] });
    for (const path of ['/merge-only//admin/x', '/merge-only/admin//x', '//merge-only//admin'])
      expect(await sent(path, bare), path).toBe(401);
  });

  test('lead to no other host in redirects', async () => {
    const bare = await start();
    const locationOf = async (path: string) => {
      const { fields } = await bare.ask(`GET ${path}`);
      return fields[fields.indexOf('Location') + 1];
    };
    expect(await locationOf('/answer/a')).toBe('/new/a');
    expect((await bare.ask('GET /answer//evil.example')).fields.join()).not.toContain('//evil');
    expect(await locationOf('//slash//x')).toBe('/slash/x/');
  });

  test('do not lead around a bucket', async () => {
    const limits = { buckets: { b: { address: '1/1h' } }, routes: { '/raw/{key}': 'b' } };
    const bare = await start(limits);
    const statuses: number[] = [];
    for (const path of ['/raw/a', '/raw//a', '/raw///a'])
      statuses.push((await bare.ask(`GET ${path}`)).status);
    expect(statuses).toEqual([200, 429, 429]);
  });
});

/** How services read a path that they decode so often: with slashes merged or not, and dots resolved at the end. */
const readings = (times: number): readonly ((path: string) => string)[] => [
  path => posix.normalize(decoded(path, times)),
  path => new URL(`http://a${decoded(path, times).replaceAll('?', '')}`).pathname,
  path =>
    decoded(path, times)
      .replaceAll('\\', '/')
      .replaceAll(/\/{2,}/g, '/')
      .replaceAll(/;[^/]*/g, ''),
];
const ONCE = [0, 1].flatMap(readings);
/** Those that decode twice as well. Only routes with `encoded_slashes: pass` look so far. */
const TWICE = [0, 1, 2].flatMap(readings);

function decoded(path: string, times: number): string {
  let text = path;
  for (let i = 0; i < times; i++)
    text = text.replaceAll(/%([0-9a-f]{2})/gi, (_, digits) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
  return text;
}

test('no path leads a service that decodes once, twice or not to a guarded neighbour', async () => {
  const bare = await start();
  const piece = fc.constantFrom(
    ...[
      '/',
      '//',
      '%2F',
      '%2f',
      '%252F',
      '%25252f',
      '..',
      '.',
      '%2e',
      '%252e',
      '%5c',
      '\\',
      '%255C',
      ';',
      '%3B',
      '%00',
    ],
    ...[
      'admin',
      'ADMIN',
      '%61dmin',
      'x',
      'raw',
      'cut',
      'merge',
      'merge-only',
      '%C0%AF',
      '%25c0%25ae',
      '%E0%80%AF',
      '%',
    ],
  );
  const path = fc
    .tuple(
      fc.constantFrom('/raw/', '/cut/', '/merge/', '/merge-only/', '/one/', '/', '//'),
      fc.array(piece, { maxLength: 9 }),
    )
    .map(([first, rest]) => first + rest.join(''));
  let forwarded = 0;
  await fc.assert(
    fc.asyncProperty(path, async line => {
      bare.requests.length = 0;
      await bare.ask(`GET ${line}`);
      const [request] = bare.requests;
      if (request === undefined) return;
      forwarded++;
      const [target = ''] = request.target.split('?');
      expect(target).not.toMatch(/^\/\//);
      const [, first = ''] = /^\/([^/;]*)/.exec(target.toLowerCase()) ?? [];
      // The service of these has the guarded /admin/** and /merge-only/admin/**.
      for (const read of first === 'merge' ? TWICE : first === 'merge-only' ? ONCE : [])
        expect(read(target).toLowerCase()).not.toMatch(/^\/+(?:merge-only\/+)?admin(?:\/|$)/);
      for (const read of first === 'raw' || first === 'one' ? TWICE : [])
        expect(read(target).toLowerCase().split(/[/;]/)[1]).toBe(first);
    }),
    played(20_000, 3_000),
  );
  expect(forwarded).toBeGreaterThan(100);
});
