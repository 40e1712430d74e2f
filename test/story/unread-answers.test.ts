import { describe, expect, test } from 'vitest';
import { type ConfigPart, type LocalGateway, startGateway } from '../support/gateway.ts';
import { framed } from '../support/grpc.ts';
import { type H2Request, startH2Upstream } from '../support/h2-upstream.ts';
import {
  connectFrames,
  FLAG,
  type FrameClient,
  frame,
  headers,
  request,
  settings,
  TYPE,
  uint32,
} from '../support/http2-frames.ts';
import { identityConfig } from '../support/identity-gateway.ts';
import { shared } from '../support/lifetime.ts';
import { refusalOf } from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { areWhole } from '../support/runs.ts';
import { tempFolder } from '../support/temp.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { AUTHORITY, writeIdentity } from '../support/tls-gateway.ts';
import { settled, sleep, waitFor } from '../support/wait.ts';
import type { RawClient, Response, Script } from '../support/wire/index.ts';
import { startUpstream } from '../support/wire/index.ts';

/** How many requests may be in flight: in all, and to each upstream. */
const PLACES = 4;
/** How many answers the attacker leaves unread: more than anything here may be drawn from, or lets pass. */
const UNREAD = 8;
/** Where everyone comes from but the attacker. */
const STRANGER = { localAddress: '127.0.0.9' };
const IDENTITY = AUTHORITY.forHosts('localhost', '127.0.0.1');
const NO_WINDOW = [4, 0] as const;
const MAX_WINDOW = 0x7fff_ffff;
/** RFC 9218, 7.1. */
const PRIORITY_UPDATE = 0x10;

const LIMITS = {
  invalid_requests: { limit: `${UNREAD - 1}/1h` },
  webhook_not_found: { limit: `${UNREAD - 1}/1h`, restrict_for: '1h' },
  buckets: { things: { main: 'id', resource: `${UNREAD}/1h` } },
  routes: { '/things/{id}': 'things' },
};

const open = { upstream: 'api', authentication: 'none' };
const ROUTES = [
  { path: '/api/**', ...open, methods: ['GET', 'HEAD', 'POST', 'OPTIONS'], websocket: true },
  { path: '/things/{id}', ...open, websocket: true },
  { path: '/hooks/{id}/{token}', ...open, webhook: true },
  { path: '/secret', upstream: 'api' },
  { path: '/moved', authentication: 'none', redirect: { to: '/api/a', status: 308 } },
  { path: '/fixed', authentication: 'none', respond: { status: 200, body: 'fixed' } },
  { grpc: 'test.v1.Echo/*', upstream: 'calls', authentication: 'none', grpc_web: true },
];

interface Front {
  readonly gateway: LocalGateway;
  readonly api: Awaited<ReturnType<typeof startUpstream>>;
  /** Requests to `held` are answered from now on. */
  release(): void;
  connect(): Promise<FrameClient>;
  raw(): Promise<RawClient>;
  ask(target: string): Promise<Response>;
}

interface Variant {
  readonly tls?: boolean;
  readonly config?: ConfigPart;
  readonly limits?: ConfigPart;
  readonly places?: number;
}

/** Answers with the status that the query names, in one read of 16 KiB at most; `held` when told to, `endless` without end. */
function answering(released: Promise<void>): Script {
  return async exchange => {
    const { target } = exchange.request;
    if (target.includes('endless')) {
      await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (;;) await exchange.send(`10000\r\n${'x'.repeat(0x10000)}\r\n`);
    }
    await exchange.received();
    if (target.includes('held')) await released;
    if (target.includes('pieces')) {
      await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (const piece of ['5\r\nhello\r\n', '5\r\nworld\r\n', '0\r\n\r\n']) {
        await sleep(20);
        await exchange.send(piece);
      }
      return;
    }
    await exchange.answer(Number(target.split('?')[1] ?? 200), [], 'x'.repeat(16_000));
  };
}

/** Answers with the code that `x-code` names: behind a message, or with nothing but trailers. */
function calling(released: Promise<void>) {
  return async ({ stream, headers: fields, body }: H2Request) => {
    await body();
    if (fields['x-held'] !== undefined) await released;
    const status = { 'grpc-status': String(fields['x-code'] ?? 0) };
    const head = { ':status': 200, 'content-type': 'application/grpc+proto' };
    if (fields['x-only'] !== undefined) return stream.respond({ ...head, ...status }, { endStream: true });
    stream.respond(head, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(status));
    stream.end(framed('hello'));
  };
}

async function start({
  tls = false,
  config,
  limits = LIMITS,
  places = PLACES,
}: Variant = {}): Promise<Front> {
  const released = Promise.withResolvers<void>();
  const issuer = await startIssuer();
  const api = await startUpstream(answering(released.promise));
  const calls = await startH2Upstream(calling(released.promise));
  const identity = async () => await writeIdentity(await tempFolder(), '0', IDENTITY);
  const http = {
    address: '127.0.0.1:0',
    ...(tls ? { tls: { certificates: [await identity()] } } : { h2c: true }),
  };
  const gateway = await startGateway(
    await identityConfig(
      {
        issuer: issuer.url,
        limits,
        config: {
          listen: { http, admin: '127.0.0.1:0' },
          routes: ROUTES,
          caps: { requests: places, requests_per_address: places },
          upstreams: {
            api: {
              url: `http://127.0.0.1:${api.port}`,
              max_requests: places,
              max_requests_per_caller: '100%',
            },
            calls: {
              ...{ url: `http://127.0.0.1:${calls.port}`, protocol: 'grpc' },
              ...{ max_grpc_calls: places, max_grpc_calls_per_caller: '100%' },
            },
          },
          ...config,
        },
      },
      api,
    ),
  );
  await gateway.ready();
  const trust = tls ? { ca: AUTHORITY.certificate, servername: 'localhost' } : undefined;
  const options = trust && { tls: trust };
  return {
    ...{ gateway, api, release: released.resolve },
    connect: () => connectFrames(gateway.port, trust),
    raw: () => gateway.connect({ ...options }),
    ask: target => gateway.ask(head(target), { ...STRANGER, ...options, to: target.split(' ')[0] ?? '' }),
  };
}

/** A request of one stream. */
type Ask = (stream: number) => Buffer[];

const h2 =
  (method: string, path: string, ...fields: readonly [string, string][]): Ask =>
  stream => {
    const section = [...request(path, method), ...fields];
    if (method !== 'POST') return [headers(stream, section)];
    return [headers(stream, section, FLAG.endHeaders), frame(TYPE.data, FLAG.endStream, stream, 'x')];
  };

/** An extended CONNECT (RFC 8441). */
const webSocket =
  (path: string): Ask =>
  stream => [
    headers(
      stream,
      [...request(path, 'CONNECT'), [':protocol', 'websocket'], ['sec-websocket-version', '13']],
      FLAG.endHeaders,
    ),
  ];

const call =
  (method: string, fields: readonly [string, string][] = [], type = 'application/grpc'): Ask =>
  stream => [
    headers(
      stream,
      [...request(`/test.v1.Echo/${method}`, 'POST'), ['content-type', type], ['te', 'trailers'], ...fields],
      FLAG.endHeaders,
    ),
    frame(TYPE.data, FLAG.endStream, stream, framed('hello')),
  ];
const WEB = 'application/grpc-web+proto';
const ONLY: [string, string] = ['x-only', '1'];
const HOLD: [string, string] = ['x-held', '1'];
const code = (value: number): [string, string] => ['x-code', String(value)];

/** What must follow of the attack, whether or not its answers are read. */
type Then = 'restricted' | 'webhook restricted' | 'units are there';

const KINDS: [name: string, ask: Ask, status: number, ...then: Then[]][] = [
  ['GET', h2('GET', '/api/a'), 200],
  ['POST', h2('POST', '/api/a'), 200],
  ['an answer in pieces', h2('GET', '/api/pieces'), 200],
  ['HEAD', h2('HEAD', '/api/a'), 200],
  ['OPTIONS', h2('OPTIONS', '/api/a'), 200],
  ['OPTIONS *', h2('OPTIONS', '*'), 204],
  ['a 204', h2('GET', '/api/a?204'), 204],
  ['a 304', h2('GET', '/api/a?304'), 304],
  ['a 500', h2('GET', '/api/a?500'), 500],
  ['a 429 of the service', h2('GET', '/api/a?429'), 429],
  ['a 401 of the service', h2('GET', '/things/7?401'), 401, 'restricted', 'units are there'],
  ['a 403 of the service', h2('POST', '/things/7?403'), 403, 'restricted', 'units are there'],
  ['a 404 of the service', h2('GET', '/things/7?404'), 404, 'units are there'],
  ['a 404 to HEAD', h2('HEAD', '/things/7?404'), 404, 'units are there'],
  ['a 404 of a webhook', h2('POST', '/hooks/1/a?404'), 404, 'webhook restricted'],
  ['no route', h2('GET', '/nothing'), 404],
  ['a redirect', h2('GET', '/moved'), 308],
  ['a fixed answer', h2('GET', '/fixed'), 200],
  ['no token', h2('GET', '/secret'), 401, 'restricted'],
  ['a refused WebSocket', webSocket('/things/7?403'), 403, 'restricted', 'units are there'],
  ['a call', call('Unary'), 200],
  ['a call that fails behind a message', call('Unary', [code(7)]), 200, 'restricted'],
  ['trailers alone', call('Unary', [code(16), ONLY]), 200, 'restricted'],
  ['a call without a method', call('../None'), 200],
  ['a call of gRPC-Web', call('Unary', [], WEB), 200],
  ['a call of gRPC-Web that fails', call('Unary', [code(16)], WEB), 200, 'restricted'],
];

/** Asks so often that the answers would take all places twice. The bodies of none are read. */
async function leaveUnread({ gateway }: Front, client: FrameClient, ask: Ask, status: number): Promise<void> {
  for (let stream = 1; stream < 2 * UNREAD; stream += 2) {
    await client.send(...ask(stream));
    expect(await client.status(stream)).toBe(status);
    await waitFor('it holds no place', async () => (await inFlight(gateway)) === 0);
  }
}

/** How many requests are in flight to the upstreams. */
async function inFlight(gateway: LocalGateway): Promise<number> {
  const { upstreams }: { upstreams: { requestsInFlight: number }[] } = JSON.parse(
    (await gateway.admin('/status.json')).text,
  );
  return upstreams.reduce((sum, { requestsInFlight }) => sum + requestsInFlight, 0);
}

const EXPECT: Record<Then, (front: Front) => Promise<void>> = {
  restricted: async ({ gateway }) => {
    expect(refusalOf(await gateway.ask(head('GET /api/a')))).toMatchObject({ code: 8, global: true });
  },
  'webhook restricted': async ({ gateway }) => {
    expect(refusalOf(await gateway.ask(head('GET /hooks/1/a')))).toMatchObject({ code: 8, global: false });
  },
  'units are there': async front => {
    expect((await front.ask('GET /things/7')).status).toBe(200);
  },
};

describe('an answer that waits for a window of its client holds no place, unit or offence', () => {
  const harmless = shared(start);
  test.each(KINDS)('%s', async (_, ask, status, ...then) => {
    const front = await (then.length === 0 ? harmless() : start());
    await leaveUnread(front, await (await front.connect()).begin(NO_WINDOW), ask, status);
    expect((await front.ask('GET /api/a')).status).toBe(200);
    for (const each of then) await EXPECT[each](front);
  });

  test.each<[string, Variant]>([
    ['over TLS', { tls: true }],
    ['with two workers', { config: { workers: 2 } }],
  ])('%s, whatever it is', async (_, variant) => {
    const { buckets, routes } = LIMITS;
    const front = await start({ ...variant, limits: { buckets, routes } });
    // Each has been seen above: what these change is the same for all.
    for (const [name, ask, status] of areWhole ? KINDS : KINDS.filter((_kind, i) => i % 5 === 0)) {
      await leaveUnread(front, await (await front.connect()).begin(NO_WINDOW), ask, status);
      expect((await front.ask('GET /api/a')).status, name).toBe(200);
    }
  });
});

test('games with windows and priorities change nothing about that', async () => {
  const front = await start();
  const client = await (await front.connect()).begin(NO_WINDOW);
  await leaveUnread(front, client, h2('GET', '/api/a', ['priority', 'u=0']), 200);
  for (let round = 0; round < 5; round++) {
    for (let stream = 1; stream < 2 * UNREAD; stream += 2)
      await client.send(
        frame(TYPE.windowUpdate, 0, stream, uint32(1)),
        frame(PRIORITY_UPDATE, 0, 0, Buffer.concat([uint32(stream), Buffer.from(`u=${round}, i`)])),
      );
    await client.send(settings([4, 1]), settings(NO_WINDOW), frame(TYPE.windowUpdate, 0, 0, uint32(1)));
    for (let i = 0; i < PLACES; i++) expect((await front.ask('GET /api/a')).status).toBe(200);
  }
  expect(client.closed).toBe(false);
});

/** What a client asks for whose socket is full when the answers come. */
const HELD: readonly Ask[] = [
  h2('GET', '/api/held'),
  h2('GET', '/api/held?204'),
  h2('GET', '/api/held?304'),
  h2('HEAD', '/api/held'),
  h2('POST', '/things/held?403'),
  h2('GET', '/things/held?404', ['priority', 'u=7']),
  webSocket('/things/held?401'),
  call('Unary', [HOLD]),
  call('Unary', [HOLD, code(7)]),
  call('Unary', [HOLD, code(16), ONLY]),
  call('Unary', [HOLD], WEB),
];

describe('an answer that comes while the socket of its client is full holds no place', () => {
  test.each<[string, Variant]>([
    ['in cleartext', {}],
    ['over TLS', { tls: true }],
    ['with two workers', { config: { workers: 2 } }],
  ])('%s', async (_, variant) => {
    const places = 1 + HELD.length;
    const front = await start({ ...variant, places });
    const client = await (await front.connect()).begin([4, MAX_WINDOW]);
    client.pause();
    await client.send(
      frame(TYPE.windowUpdate, 0, 0, uint32(MAX_WINDOW - 65_535)),
      ...h2('GET', '/api/endless')(1),
      ...HELD.flatMap((ask, i) => ask(3 + 2 * i)),
    );
    await waitFor('all places are taken', async () => (await inFlight(front.gateway)) === places);
    await waitFor('the socket is full', async () => (await held(front.gateway)) > 0);
    expect((await front.ask('GET /api/a')).status).toBe(503);
    front.release();
    await waitFor('the endless one alone holds a place', async () => (await inFlight(front.gateway)) === 1);
    expect((await front.ask('GET /api/a')).status).toBe(200);
    expect(client.closed).toBe(false);
  });
});

async function held(gateway: LocalGateway): Promise<number> {
  return (await gateway.metric('weir_buffered_bytes')).get('') ?? 0;
}

test.each<[string, Variant]>([
  ['cleartext', {}],
  ...(areWhole ? [['TLS', { tls: true }] satisfies [string, Variant]] : []),
])('a client that pipelines requests over %s and reads nothing holds no place', async (_, variant) => {
  const front = await start(variant);
  for (let i = 0; i < PLACES; i++) {
    const client = await front.raw();
    client.pause();
    void client.send(head('GET /api/a').repeat(4_000));
  }
  const served = () => front.api.requests.length;
  await waitFor('some are served', async () => served() > PLACES && (await held(front.gateway)) > 0);
  await settled(served);
  expect(served()).toBeLessThan(PLACES * 4_000);
  expect(await inFlight(front.gateway)).toBe(0);
  for (let i = 0; i < PLACES; i++) expect((await front.ask('GET /api/a')).status).toBe(200);
});
