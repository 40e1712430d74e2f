import { describe, expect, it } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { accessLines, startGatewayOf } from '../support/identity-gateway.ts';
import { handshake } from '../support/raw-web-sockets.ts';
import { head, inChunks } from '../support/requests.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { names, startUpstream, values } from '../support/wire/index.ts';

async function front(routes: readonly Readonly<Record<string, unknown>>[], limits = {}) {
  const issuer = await startIssuer();
  const started = await startGatewayOf(issuer, {
    config: { routes: [{ path: '/**', upstream: 'api' }, ...routes] },
    limits,
  });
  const ask = (target: string, ...lines: string[]) =>
    started.gateway.ask(head(target, ...lines), { to: target.split(' ')[0] ?? 'GET' });
  return { issuer, ask, ...started };
}

describe('redirect', () => {
  it.each([
    ['https://new.example.com/', '/old', 'https://new.example.com/'],
    ['https://new.example.com/a', '/old?x=1&y=%20', 'https://new.example.com/a?x=1&y=%20'],
    ['https://new.example.com/a?b=c', '/old?x=1', 'https://new.example.com/a?b=c'],
    ['/new#part', '/old?x=1', '/new?x=1#part'],
    ['/new#part', '/old', '/new#part'],
  ])('to %s sends %s to %s', async (to, target, location) => {
    const { ask, upstream } = await front([{ path: '/old/**', redirect: { to } }]);
    const { status, fields, body } = await ask(`GET ${target}`);
    expect([status, body.toString()]).toEqual([308, '']);
    expect(values(fields, 'location')).toEqual([location]);
    expect(values(fields, 'content-length')).toEqual(['0']);
    expect(names(fields)).toEqual(expect.arrayContaining(['Via', 'X-Request-Id', 'Date']));
    expect(upstream.requests).toEqual([]);
  });

  it('takes nothing of the path and no bytes of the query that could end the field', async () => {
    const { ask } = await front([{ path: '/old/**', redirect: { to: '/new' } }]);
    for (const target of ['/old/%0D%0AX-A:%20b', '/old?%0d%0aX-A:%20b', '/old//evil.example'])
      expect((await ask(`GET ${target}`)).fields.join('\n')).not.toMatch(/X-A: b|evil/);
  });

  it('has the status that is written', async () => {
    const { ask } = await front([{ path: '/old', redirect: { to: '/new', status: 303 } }]);
    expect((await ask('GET /old')).status).toBe(303);
  });
});

describe('respond', () => {
  const robots = { status: 200, body: 'User-agent: *\n', headers: { 'Content-Type': 'text/plain' } };

  it('is the same answer for everyone', async () => {
    const { ask, upstream } = await front([{ path: '/robots.txt', respond: robots }]);
    const { status, fields, body } = await ask('GET /robots.txt');
    expect([status, body.toString()]).toEqual([200, 'User-agent: *\n']);
    expect(values(fields, 'content-type')).toEqual(['text/plain']);
    expect(values(fields, 'content-length')).toEqual(['14']);
    expect(upstream.requests).toEqual([]);
  });

  it('is without its body for HEAD, and the connection goes on', async () => {
    const { gateway } = await front([{ path: '/robots.txt', respond: robots }]);
    const client = await gateway.connect();
    const answer = await client.ask(head('HEAD /robots.txt'), { to: 'HEAD' });
    expect([answer.status, answer.body.length]).toEqual([200, 0]);
    expect(values(answer.fields, 'content-length')).toEqual(['14']);
    expect((await client.ask(head('GET /robots.txt'))).body.toString()).toBe('User-agent: *\n');
  });

  it.each([
    [{ status: 204, body: '' }, []],
    [{ status: 304, body: '' }, []],
    [{ status: 205, body: '' }, ['0']],
    [{ status: 410, body: '' }, ['0']],
    [{ status: 200, body: 'ä€' }, ['5']],
  ])('%j has no more than its status allows', async (respond, lengths) => {
    const { gateway } = await front([{ path: '/a', respond }]);
    const client = await gateway.connect();
    for (let i = 0; i < 2; i++) {
      const answer = await client.ask(head('GET /a'));
      expect(answer.status).toBe(respond.status);
      expect(values(answer.fields, 'content-length')).toEqual(lengths);
      expect(answer.body.toString()).toBe(respond.body);
    }
  });

  it('says that its body is text if it says nothing else, so that no browser guesses', async () => {
    const { ask } = await front([{ path: '/a', respond: { status: 200, body: '<script>' } }]);
    expect(values((await ask('GET /a')).fields, 'content-type')).toEqual(['text/plain; charset=utf-8']);
  });

  it('reads no body of its requests', async () => {
    const { gateway } = await front([{ path: '/a', respond: { status: 200, body: 'ok' } }]);
    const client = await gateway.connect();
    expect((await client.ask(inChunks('POST /a', ['x']))).status).toBe(200);
    expect(
      (await gateway.ask(head('POST /a', 'Content-Length: 1000000000', 'Expect: 100-continue'))).status,
    ).toBe(200);
  });

  it('opens no WebSocket', async () => {
    const { gateway } = await front([{ path: '/a', respond: { status: 200 } }]);
    expect((await gateway.ask(handshake('/a'))).status).toBe(501);
  });
});

describe('a route without an upstream', () => {
  const respond = { status: 200, body: 'ok' };

  it('needs no token unless it says so', async () => {
    const { ask, issuer } = await front([
      { path: '/open', respond },
      { path: '/closed', respond, authentication: 'required' },
      { path: '/scoped', redirect: { to: '/x' }, authentication: 'required', require: { scopes: ['a'] } },
    ]);
    expect((await ask('GET /open', 'Authorization: Bearer nonsense')).status).toBe(200);
    expect((await ask('GET /closed')).status).toBe(401);
    expect((await ask('GET /closed', issuer.bearer())).status).toBe(200);
    expect((await ask('GET /scoped', issuer.bearer())).status).toBe(403);
    expect((await ask('GET /scoped', issuer.bearer({ scope: 'a' }))).status).toBe(308);
  });

  it('draws on limits, and is logged and counted', async () => {
    const { ask, gateway } = await front([{ path: '/a', respond }], {
      buckets: { one: { address: '2/1h' } },
      routes: { '/a': 'one' },
    });
    const first = await ask('GET /a');
    expect(values(first.fields, 'x-ratelimit-remaining')).toEqual(['1']);
    await ask('GET /a');
    expect((await ask('GET /a')).status).toBe(429);
    await expect
      .poll(() =>
        accessLines(gateway).map(({ route, upstream, status, outcome }) => ({
          route,
          upstream,
          status,
          outcome,
        })),
      )
      .toEqual([
        { route: '/a', upstream: null, status: 200, outcome: 'answered' },
        { route: '/a', upstream: null, status: 200, outcome: 'answered' },
        { route: '/a', upstream: null, status: 429, outcome: 'answered' },
      ]);
    const counted = await gateway.counted('weir_requests_total');
    expect(
      [...counted].filter(([labels]) => labels.includes('route="/a"')).map(([, count]) => count),
    ).toEqual(expect.arrayContaining([2, 1]));
  });

  it('answers preflights by "cors" and sets the fields of responses', async () => {
    const issuer = await startIssuer();
    const { gateway } = await startGatewayOf(issuer, {
      config: {
        cors: { origins: ['https://app.example'] },
        routes: [
          {
            path: '/a',
            respond: { ...respond, headers: { 'X-A': 'mine' } },
            response_headers: { set: { 'X-A': 'theirs', 'Cache-Control': 'max-age=60' } },
          },
          { path: '/b', upstream: 'api' },
        ],
      },
    });
    const preflight = head(
      'OPTIONS /a',
      'Origin: https://app.example',
      'Access-Control-Request-Method: POST',
    );
    const allowed = await gateway.ask(preflight);
    expect([allowed.status, values(allowed.fields, 'access-control-allow-methods')]).toEqual([204, ['POST']]);
    const { fields } = await gateway.ask(head('GET /a', 'Origin: https://app.example'));
    expect(values(fields, 'access-control-allow-origin')).toEqual(['https://app.example']);
    expect([values(fields, 'x-a'), values(fields, 'cache-control')]).toEqual([['mine'], ['max-age=60']]);
  });

  it('serves the methods that it names', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({
      upstreamPort: upstream.port,
      config: {
        routes: [
          { path: '/a', methods: ['GET'], respond },
          { path: '/b', upstream: 'api', authentication: 'none' },
        ],
      },
    });
    expect((await gateway.ask(head('GET /a'))).status).toBe(200);
    expect((await gateway.ask(head('POST /a'))).status).toBe(404);
  });
});
