import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { changeConfig, serves } from '../support/edit-config.ts';
import { startGateway } from '../support/gateway.ts';
import { callOnce, grpcClient, startGrpcServer } from '../support/grpc.ts';
import { ask, connectHttp2 } from '../support/http2-client.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { agreement, handshake, startRawUpstream } from '../support/raw-web-sockets.ts';
import { head } from '../support/requests.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { header, names, startUpstream, values, type WireFields } from '../support/wire/index.ts';

const SECURITY = {
  'Strict-Transport-Security': 'max-age=63072000',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

/** Expects every security header once. */
function expectSecure(fields: WireFields): void {
  for (const [name, value] of Object.entries(SECURITY)) expect(values(fields, name), name).toEqual([value]);
}

describe('request_headers', () => {
  const edits = {
    set: {
      'X-Plan': '{claim.plan}',
      'X-Fixed': 'one two',
      'X-Where': '{client_address} {route}',
      'X-Trace': 'id-{request_id}',
    },
    remove: ['X-Debug', 'Cookie'],
  };

  async function front() {
    const issuer = await startIssuer();
    const { gateway, upstream } = await startGatewayOf(issuer, {
      tokens: { audience: 'api' },
      routes: [
        { path: '/a/{id}', request_headers: edits },
        { path: '/open', authentication: 'optional', request_headers: edits },
      ],
    });
    const sent = async (target: string, ...lines: string[]) => {
      const response = await gateway.ask(head(target, ...lines));
      expect(response.status).toBe(200);
      return { response, fields: upstream.requests.at(-1)?.fields ?? [] };
    };
    return { issuer, gateway, upstream, sent };
  }

  it('may lack Via, for services that do less for proxies, while responses have it', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({
      upstreamPort: upstream.port,
      route: { request_headers: { remove: ['Via'] } },
    });
    const { fields } = await gateway.ask(head('GET /a', 'Via: 1.1 before'));
    expect([names(upstream.onlyRequest.fields).includes('via'), values(fields, 'via')]).toEqual([
      false,
      ['1.1 weir'],
    ]);
  });

  it('are what the token and the request say', async () => {
    const { issuer, sent } = await front();
    const bearer = issuer.bearer({ plan: 'gold 100 % ä' });
    const { fields, response } = await sent('GET /a/7', bearer, 'Cookie: a=b', 'x-debug: 1', 'X-Other: 2');
    expect(values(fields, 'x-plan')).toEqual(['gold%20100%20%25%20%C3%A4']);
    expect(values(fields, 'x-fixed')).toEqual(['one two']);
    expect(values(fields, 'x-where')).toEqual(['127.0.0.1 /a/{id}']);
    expect(values(fields, 'x-trace')).toEqual([`id-${header(response, 'x-request-id')}`]);
    expect(values(fields, 'x-other')).toEqual(['2']);
    expect(names(fields).filter(name => /cookie|debug/i.test(name))).toEqual([]);
  });

  it('never come from the client, however it spells them', async () => {
    const { issuer, sent } = await front();
    const bearer = issuer.bearer({ plan: 'silver' });
    for (const name of ['X-Plan', 'x_plan', 'X.PLAN', 'X-Fixed', 'x_fixed', 'X~Trace', 'X_Debug']) {
      for (const target of ['GET /a/7', 'GET /open']) {
        const { fields } = await sent(target, bearer, `${name}: forged`, `${name}: forged`);
        expect(
          fields.filter(part => part.includes('forged')),
          name,
        ).toEqual([]);
        expect(values(fields, 'x-plan')).toEqual(['silver']);
      }
    }
  });

  it('are left out where the claim is missing or has more than one spelling', async () => {
    const { issuer, sent } = await front();
    for (const plan of [undefined, null, ['gold'], { a: 1 }, '\ud800'])
      expect(names((await sent('GET /a/7', issuer.bearer({ plan }))).fields).join()).not.toMatch(/x-plan/i);
    expect(values((await sent('GET /a/7', issuer.bearer({ plan: true }))).fields, 'x-plan')).toEqual([
      'true',
    ]);
    const { fields } = await sent('GET /open', 'X-Plan: forged');
    expect(names(fields).join()).not.toMatch(/x-plan/i);
    expect(values(fields, 'x-fixed')).toEqual(['one two']);
  });

  it('tell each caller of one connection apart', async () => {
    const { issuer, gateway, upstream } = await front();
    const client = await gateway.connect();
    const [one, two] = [
      issuer.bearer({ sub: 'u1', plan: 'gold' }),
      issuer.bearer({ sub: 'u2', plan: 'free' }),
    ];
    for (const [bearer, plan] of [
      [one, 'gold'],
      [two, 'free'],
      [one, 'gold'],
    ] as const) {
      await client.ask(head('GET /a/7', bearer));
      expect(values(upstream.requests.at(-1)?.fields ?? [], 'x-plan')).toEqual([plan]);
    }
  });

  it('of a claim come from no client on other routes either, while others do', async () => {
    const { issuer, sent } = await front();
    const { fields } = await sent('GET /other', issuer.bearer(), 'X_Plan: gold', 'X-Fixed: mine');
    expect(names(fields).join()).not.toMatch(/x.plan/i);
    expect(values(fields, 'x-fixed')).toEqual(['mine']);
  });

  it('follow a reload, with a claim that was not kept before', async () => {
    const { issuer, gateway, upstream } = await front();
    const bearer = issuer.bearer({ plan: 'gold', tenant: 't1' });
    const client = await gateway.connect();
    await client.ask(head('GET /a/7', bearer));
    await changeConfig(gateway, {
      routes: [{ path: '/**', upstream: 'api', request_headers: { set: { 'X-Tenant': '{claim.tenant}' } } }],
    });
    await serves(gateway, 2);
    await client.ask(head('GET /a/7', bearer, 'X-Tenant: forged'));
    const { fields } = upstream.requests.at(-1) ?? { fields: [] };
    expect(values(fields, 'x-tenant')).toEqual(['t1']);
    expect(names(fields).join()).not.toMatch(/x-plan/i);
  });
});

describe('response_headers', () => {
  const edits = { set: { ...SECURITY, 'Cache-Control': 'max-age=60' }, remove: ['Server', 'X-Powered-By'] };

  it('hold for what a service answers, in place of its own', async () => {
    const upstream = await startUpstream(exchange =>
      exchange.answer(
        200,
        [
          'Server',
          'x/1',
          'x-frame-options',
          'SAMEORIGIN',
          'X-POWERED-BY',
          'y',
          'X-Kept',
          'z',
          'Cache-Control',
          'no-cache',
        ],
        'ok',
      ),
    );
    const gateway = await startGateway({ upstreamPort: upstream.port, route: { response_headers: edits } });
    for (const method of ['GET', 'HEAD']) {
      const { fields } = await gateway.ask(head(`${method} /`), { to: method });
      expectSecure(fields);
      expect(values(fields, 'cache-control')).toEqual(['max-age=60']);
      expect(values(fields, 'x-kept')).toEqual(['z']);
      expect(names(fields).filter(name => /server|powered/i.test(name))).toEqual([]);
    }
  });

  it("hold for the gateway's own answers, which no cache keeps for it", async () => {
    const issuer = await startIssuer();
    const { gateway } = await startGatewayOf(issuer, {
      routes: [
        { path: '/a', response_headers: edits, require: { scopes: ['a'] } },
        { path: '/limited', response_headers: edits, authentication: 'none' },
        { path: '/open', response_headers: edits, authentication: 'none' },
      ],
      config: { cors: { origins: ['https://app.example'] } },
      limits: { buckets: { one: { address: '1/1h' } }, routes: { '/limited': 'one' } },
    });
    const preflight = ['Origin: https://app.example', 'Access-Control-Request-Method: GET'];
    await gateway.ask(head('GET /limited'));
    for (const [bytes, status] of [
      [head('GET /a'), 401],
      [head('GET /a', issuer.bearer()), 403],
      [head('GET /limited'), 429],
      [head('OPTIONS /a', ...preflight), 204],
      [head('OPTIONS /open', 'Max-Forwards: 0'), 204],
    ] as const) {
      const response = await gateway.ask(bytes);
      expect(response.status).toBe(status);
      expectSecure(response.fields);
      expect(values(response.fields, 'cache-control').join()).not.toContain('max-age');
    }
    expect(values((await gateway.ask(head('GET /elsewhere'))).fields, 'x-frame-options')).toEqual([]);
  });

  it('hold for what is refused before its route is looked up for anything else', async () => {
    const issuer = await startIssuer();
    const { gateway } = await startGatewayOf(issuer, {
      routes: [{ path: '/a', response_headers: edits }, { path: '/plain' }],
      limits: { global: { user: '3/1h', address: '3/1h' } },
    });
    const refused = async (status: number, ...lines: [string, ...string[]]) => {
      const response = await gateway.ask(head(...lines));
      expect(response.status).toBe(status);
      return response.fields;
    };
    expectSecure(await refused(417, 'GET /a', 'Expect: more'));
    expectSecure(await refused(405, 'TRACE /a'));
    expect(values(await refused(405, 'TRACE /plain'), 'x-frame-options')).toEqual([]);
    expectSecure(await refused(429, 'TRACE /a'));
  });

  it('hold for what is no call on a listener of gRPC', async () => {
    const gateway = await startGateway({
      upstreamPort: 1,
      api: { protocol: 'grpc' },
      config: {
        listen: { http: '127.0.0.1:0', grpc: '127.0.0.1:0', admin: '127.0.0.1:0' },
        routes: [
          { path: '/a', redirect: { to: '/b' }, authentication: 'none', response_headers: edits },
          {
            grpc: 'pets.Pets/*',
            upstream: 'api',
            authentication: 'none',
            response_headers: edits,
          },
        ],
      },
    });
    const session = connectHttp2({ port: gateway.app.addresses.grpc?.port ?? 0 });
    for (const path of ['/a', '/pets.Pets/Get']) {
      const { status, fields } = await ask(session, { ':path': path });
      expect([status, fields]).toEqual([415, expect.objectContaining({ 'x-frame-options': 'DENY' })]);
    }
  });

  it("hold for a service's 429, whether it is rewritten or passes", async () => {
    const upstream = await startUpstream(exchange =>
      exchange.answer(429, ['Retry-After', '3', 'Server', 'x', 'X-Frame-Options', 'SAMEORIGIN'], 'slow down'),
    );
    for (const upstream_429 of ['rewrite', 'pass']) {
      const gateway = await startGateway({
        upstreamPort: upstream.port,
        route: { upstream_429, response_headers: edits },
      });
      const { status, fields } = await gateway.ask(head('GET /'));
      expect(status).toBe(429);
      expectSecure(fields);
      expect(names(fields).filter(name => /^server$/i.test(name))).toEqual([]);
    }
  });

  it('hold for the 101 of a WebSocket', async () => {
    const upstream = await startRawUpstream(
      ({ socket }) => void socket.write(agreement('Server: x', 'X-Frame-Options: SAMEORIGIN'), 'latin1'),
    );
    const gateway = await startGateway({
      upstreamPort: upstream.port,
      route: { websocket: true, response_headers: edits, request_headers: { set: { 'X-A': 'b' } } },
    });
    const client = await gateway.connect();
    await client.send(handshake('/', 'X-A: forged'));
    const answer = () => client.received.toString('latin1');
    await expect.poll(answer).toMatch(/^HTTP\/1.1 101 [\s\S]*\r\n\r\n/);
    expect(answer()).toContain('X-Frame-Options: DENY\r\n');
    expect(answer()).not.toMatch(/\r\nServer:|SAMEORIGIN/);
  });
});

it('the head of a gRPC call is edited, its trailers are not', async () => {
  const seen: Metadata[] = [];
  const port = await startGrpcServer({
    Talk: (call: ServerDuplexStream<Buffer, Buffer>) => {
      seen.push(call.metadata);
      const head = new Metadata();
      head.set('x-debug', '1');
      head.set('x-frame-options', 'SAMEORIGIN');
      call.sendMetadata(head);
      call.on('data', () => {});
      const trailers = new Metadata();
      trailers.set('x-debug', '2');
      call.on('end', () => call.end(trailers));
    },
  });
  const gateway = await startGateway({
    upstreamPort: port,
    api: { protocol: 'grpc' },
    config: {
      listen: { http: { address: '127.0.0.1:0', h2c: true }, admin: '127.0.0.1:0' },
      routes: [
        {
          grpc: 'test.v1.Echo/*',
          upstream: 'api',
          authentication: 'none',
          request_headers: { set: { 'x-plan': 'gold' } },
          response_headers: { set: { 'x-frame-options': 'DENY' }, remove: ['x-debug'] },
        },
      ],
    },
  });
  const metadata = { 'x-plan': 'forged', x_plan: 'forged' };
  const client = grpcClient(gateway.port);
  const { head: answered, status } = await callOnce(client, '/test.v1.Echo/Talk', [], { metadata });
  expect([seen[0]?.get('x-plan'), seen[0]?.get('x_plan')]).toEqual([['gold'], []]);
  expect([answered.get('x-frame-options'), answered.get('x-debug')]).toEqual([['DENY'], []]);
  expect([status.code, status.metadata.get('x-debug')]).toEqual([0, ['2']]);
});
