import { describe, expect, test } from 'vitest';
import { expectError, expectRejected } from '../support/error-object.ts';
import { type GatewaySettings, startGateway } from '../support/gateway.ts';
import { shared } from '../support/lifetime.ts';
import { head } from '../support/requests.ts';
import { startUpstream } from '../support/wire/index.ts';

/** Asks a gateway with these settings, which other tests ask as well. */
function asking(settings: Partial<GatewaySettings> = {}) {
  const front = shared(async () => {
    const upstream = await startUpstream();
    return { upstream, gateway: await startGateway({ upstreamPort: upstream.port, ...settings }) };
  });
  return async (target: string) => {
    const { upstream, gateway } = await front();
    await upstream.renew();
    const client = await gateway.connect();
    await client.send(head(`GET ${target}`));
    return { client, upstream, targets: () => upstream.requests.map(request => request.target) };
  };
}

const ask = asking();

describe('a path goes upstream in one canonical form', () => {
  test.each([
    ['/', '/'],
    ['/a/b', '/a/b'],
    ['/a/b/', '/a/b/'],
    ['/A/b', '/A/b'],
    ['/%61%2D%2e%5f%7Eb', '/a-._~b'],
    ['/%31', '/1'],
    ['/a%3Ab', '/a%3Ab'],
    ['/a%3ab', '/a%3Ab'],
    ['/a:b', '/a:b'],
    ['/%c3%a9', '/%C3%A9'],
    ['/%20', '/%20'],
    ['/%25', '/%25'],
    ['/%252e%252e', '/%252e%252e'],
    ['/...', '/...'],
    ['/.a', '/.a'],
    ['/a..b', '/a..b'],
    ["/!$&'()*+,=@", "/!$&'()*+,=@"],
    ['/"<>^`{|}', '/"<>^`{|}'],
    [`/${'a'.repeat(101)}`, `/${'a'.repeat(101)}`],
    [`/${'a'.repeat(8_000)}`, `/${'a'.repeat(8_000)}`],
    ['/a?', '/a?'],
    ['/a?b=/../c;d//e%2f%zz%00\\', '/a?b=/../c;d//e%2f%zz%00\\'],
    ['/a?b?c', '/a?b?c'],
  ])('%s', async (target, canonical) => {
    const { client, targets } = await ask(target);
    const { status } = await client.answer();
    // RFC 3986 has no place for some of these characters; a gateway may refuse them, never rewrite them into another.
    if (/["<>^`{|}\\]/.test(target) && status === 400) return;
    expect(status).toBe(200);
    expect(targets()).toEqual([canonical]);
  });
});

describe('a path that two readers could take for two places is refused', () => {
  test.each([
    ...['//', '//a', '/a//b', '/a//'],
    ...['/.', '/..', '/./a', '/a/.', '/a/..', '/a/../b', '/../etc/passwd'],
    ...['/%2e', '/%2e%2e/a', '/.%2e/a', '/%2E./a', '/a/%2e%2E'],
    ...['/..;x/a', '/..;/a', '/.;/a', '/%2e%2e;x', '/..%3b/a', '/..%3Bx/a'],
    ...['/a;x', '/a;x=1/b', '/a%3b', '/a%3B/b', ';/a'],
    ...['/a%2fb', '/a%2Fb', '/a%5cb', '/a%5Cb', '/a\\b', '/\\a', '/..\\a'],
    ...['/a%00', '/%00', '/a%01', '/a%0a', '/a%0d%0aX:%20y', '/a%1f', '/a%7f'],
    ...['/a%', '/a%1', '/a%zz', '/a%g1', '/%u0041', '/a%%31'],
    ...['/a#b', '/#', '/a?b#c', '#'],
    ...['/a\x01', '/a\x7f', '/\xe9', '/\xc3\xa9', '/a?\xe9', '/a\tb'],
    ...['a', '', '?a', '%2fa', '*'],
  ])('%j', async target => {
    const { client, upstream } = await ask(target);
    await expectRejected(client);
    expect(upstream.connections).toEqual([]);
  });
});

describe('a path with a semicolon', () => {
  const askThere = asking({ route: { semicolons: 'pass' } });

  test.each([
    ['/a;x=1/b', '/a;x=1/b'],
    ['/a%3bx', '/a%3Bx'],
  ])('passes on a route that allows it: %s', async (target, canonical) => {
    const { client, targets } = await askThere(target);
    expect((await client.answer()).status).toBe(200);
    expect(targets()).toEqual([canonical]);
  });

  test.each(['/..;x/a', '/.;/a', '/%2e%2e;x', '/..%3bx', '/a/..;'])(
    'is refused even there when it hides a dot segment: %s',
    async target => {
      const { client, upstream } = await askThere(target);
      await expectRejected(client);
      expect(upstream.connections).toEqual([]);
    },
  );
});

describe('a route is chosen by the path that is sent on', () => {
  const config = {
    routes: [
      { path: '/public/**', upstream: 'api', authentication: 'none' },
      { path: '/Things/{id}', methods: ['GET'], upstream: 'api', authentication: 'none' },
    ],
  };
  const askThere = asking({ config });

  test.each([
    ['/public', '/public'],
    ['/public/', '/public/'],
    ['/PUBLIC/a', '/PUBLIC/a'],
    ['/%70ublic/a', '/public/a'],
    ['/things/1', '/things/1'],
    ['/things/%31/', '/things/1/'],
    [`/things/${'a'.repeat(8_000)}`, `/things/${'a'.repeat(8_000)}`],
  ])('whatever spelling of it a client uses: %s', async (target, canonical) => {
    const { client, targets } = await askThere(target);
    expect((await client.answer()).status).toBe(200);
    expect(targets()).toEqual([canonical]);
  });

  test.each(['/', '/private/a', '/publicity', '/public%2Fa', '/public/../private', '/things', '/things/1/2'])(
    'and nothing reaches the upstream by another: %s',
    async target => {
      const { client, upstream } = await askThere(target);
      const response = await client.answer();
      expect([400, 404]).toContain(response.status);
      expectError(response, response.status, response.status === 404 ? 5 : 3);
      expect(upstream.connections).toEqual([]);
    },
  );

  test('HEAD takes the route of GET, and no other method does', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port, config });
    expect((await gateway.ask(head('HEAD /things/1'))).status).toBe(200);
    expectError(await gateway.ask(head('DELETE /things/1')), 404, 5);
    expect(upstream.onlyRequest.method).toBe('HEAD');
  });
});
