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
    ['/A/b/', '/A/b/'],
    ['/%61%2D%2e%5f%7Eb', '/a-._~b'],
    ['/a%3ab', '/a%3Ab'],
    ['/%c3%a9', '/%C3%A9'],
    ['/%252e%252e', '/%252e%252e'],
    ['/"<>^`{|}', '/"<>^`{|}'],
    [`/${'a'.repeat(8_000)}`, `/${'a'.repeat(8_000)}`],
    ['/a?b=/../c;d//e%2f%zz%00\\', '/a?b=/../c;d//e%2f%zz%00\\'],
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
    ...[
      '//a',
      '/a/../b',
      '/%2E./a',
      '/..;x/a',
      '/..%3b/a',
      '/a;x',
      '/a%2fb',
      '/a%5Cb',
      '/a\\b',
      '/a%0d%0aX:%20y',
    ],
    ...['/a%1', '/%u0041', '/a#b', '/a\x7f', '/\xc3\xa9', 'a', '%2fa', '*'],
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
