import { describe, expect, test } from 'vitest';
import { bareGateway } from '../../../support/bare-gateway.ts';
import { values } from '../../../support/wire/index.ts';

const ROUTES = [
  { path: '/dav/**', strip_prefix: '/dav', upstream: 'api', authentication: 'none' },
  { path: '/dav/locked/**', strip_prefix: '/dav', upstream: 'api', require: { scopes: ['a'] } },
  { path: '/based/**', upstream: 'based', authentication: 'none' },
];
const UPSTREAMS = {
  config: {
    upstreams: {
      api: { url: 'http://127.0.0.1:1' },
      based: { url: 'http://based.test/srv', host: 'upstream' },
    },
  },
};

/** What the service gets as Destination of a request to `path`, or the status where it gets none. */
async function destination(value: string, line = 'MOVE /dav/a') {
  const bare = await bareGateway({}, { routes: ROUTES, ...UPSTREAMS });
  const response = await bare.ask(line, { fields: ['Destination', value] });
  const [request] = bare.requests;
  return request === undefined ? response.status : values(request.fields, 'destination');
}

describe('the Destination of a MOVE or COPY to a service that gets other paths', () => {
  test.each([
    ['/dav/b', ['/b']],
    ['/DAV/b%2ec', ['/b.c']],
    ['/dav/b?x=/dav', ['/b?x=/dav']],
    ['http://a.test/dav/b', ['http://a.test/b']],
    ['https://A.test:443/dav', ['https://a.test/']],
  ])('is translated as its path is: %s', async (value, sent) => {
    expect(await destination(value)).toEqual(sent);
  });

  test('gets the path of the URL, and the host that the service is sent', async () => {
    expect(await destination('http://a.test/based/b', 'COPY /based/a')).toEqual([
      'http://based.test/srv/based/b',
    ]);
  });

  test.each([
    '/admin/b',
    '/davx/b',
    '/dav/locked/b',
    '/dav/../admin',
    '/open/b',
    'http://other.test/dav/b',
    'http://a.test:8080/dav/b',
    '//a.test/dav/b',
    'http://a.test@other.test/dav/b',
    '/dav/%2e%2e/admin',
    '/dav/a%2f..%2f..%2fadmin',
    '/dav/b;x',
    'b',
    '',
  ])('never leads out of the route: %s', async value => {
    expect([400, 502]).toContain(await destination(value));
  });

  test('stays as it is for a service that gets the paths of clients, and with other methods', async () => {
    expect(await destination('http://x/y', 'MOVE /open/a')).toEqual(['http://x/y']);
    expect(await destination('http://x/y', 'PROPFIND /dav/a')).toEqual(['http://x/y']);
  });

  test('is refused if one of several leads elsewhere', async () => {
    const bare = await bareGateway({}, { routes: ROUTES, ...UPSTREAMS });
    const fields = ['Destination', '/dav/b', 'destination', '/admin'];
    expect((await bare.ask('COPY /dav/a', { fields })).status).toBe(502);
    expect(bare.requests).toEqual([]);
  });
});
