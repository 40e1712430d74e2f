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
    ['/%61%2D%2e%5f%7Eb/%c3%a9', '/a-._~b/%C3%A9'],
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
    ...['//a', '/a/../b', '/..;x/a', '/a;x', '/a%2fb', '/a%0d%0aX:%20y', '/a#b', '/a\x7f', '/\xc3\xa9', '*'],
  ])('%j', async target => {
    const { client, upstream } = await ask(target);
    await expectRejected(client);
    expect(upstream.connections).toEqual([]);
  });
});

describe('a path with a semicolon', () => {
  const askThere = asking({ route: { semicolons: 'pass' } });

  test('passes on a route that allows it', async () => {
    const { client, targets } = await askThere('/a;x=1/b%3bx');
    expect((await client.answer()).status).toBe(200);
    expect(targets()).toEqual(['/a;x=1/b%3Bx']);
  });

  test('is refused even there when it hides a dot segment', async () => {
    const { client, upstream } = await askThere('/..;x/a');
    await expectRejected(client);
    expect(upstream.connections).toEqual([]);
  });
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
    ['/PUBLIC/', '/PUBLIC/'],
    ['/%70ublic/a', '/public/a'],
    ['/things/%31/', '/things/1/'],
  ])('whatever spelling of it a client uses: %s', async (target, canonical) => {
    const { client, targets } = await askThere(target);
    expect((await client.answer()).status).toBe(200);
    expect(targets()).toEqual([canonical]);
  });

  test.each(['/publicity', '/public%2Fa', '/public/../private', '/things/1/2'])(
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
