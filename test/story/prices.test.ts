import { Metadata, type ServerDuplexStream, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { deafPort } from '../support/deaf-port.ts';
import { changeLimits, serves } from '../support/edit-config.ts';
import { freePort } from '../support/free-port.ts';
import type { ConfigPart, LocalGateway } from '../support/gateway.ts';
import { startGateway } from '../support/gateway.ts';
import { callOnce, grpcClient, startGrpcServer } from '../support/grpc.ts';
import { framed, post, readBody } from '../support/grpc-web.ts';
import { type H2Request, startH2Upstream } from '../support/h2-upstream.ts';
import { ask, connectHttp2, H2C } from '../support/http2-client.ts';
import { agreement, handshake, startRawUpstream } from '../support/raw-web-sockets.ts';
import { startRedis } from '../support/redis.ts';
import { redisDecides } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { header, type Script, startUpstream } from '../support/wire/index.ts';

const UNITS = 50_000;

const PRICED = { bucket: 'b', cost: { response_field: 'X-Usage', reserve: 10, most: 2_000 } };
const LEFT = { '/left': { ...PRICED, cost: { ...PRICED.cost, reserve: 1 } } };
/** Every request to every service costs what its response says. */
const LIMITS = {
  global: 'off',
  buckets: { b: { address: { limit: `${UNITS}/1h`, unit: 'cost' } } },
  routes: { '/**': PRICED, 'GRPC test.v1.Echo/*': PRICED, ...LEFT },
};

/** What a request asks its service to say: `x-head` in the head, `x-trailer` in a trailer, and `x-interim` before both. */
const http1: Script = async exchange => {
  const said = (name: string) => header(exchange.request, name);
  const [interim, first, last] = [said('x-interim'), said('x-head'), said('x-trailer')];
  if (interim !== undefined)
    await exchange.send(`HTTP/1.1 103 Early\r\nX-Usage: ${interim}\r\nLink: </a>\r\n\r\n`);
  const status = said('x-status') ?? '200';
  const lines = first === undefined ? '' : `X-Usage: ${first}\r\n`;
  if (status === '304') {
    await exchange.send(`HTTP/1.1 304 Same\r\n${lines}ETag: "e"\r\n\r\n`);
    return;
  }
  if (last === undefined) {
    await exchange.send(`HTTP/1.1 ${status} Fine\r\n${lines}Content-Length: 2\r\n\r\nok`);
    return;
  }
  await exchange.send(
    `HTTP/1.1 ${status} Fine\r\n${lines}Trailer: X-Usage, X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n`,
  );
  if (said('x-wait') !== undefined) await waiting.promise;
  await exchange.send(`0\r\nX-Usage: ${last}\r\nX-Sum: abc\r\n\r\n`);
};
let waiting = Promise.withResolvers<void>();

function http2({ stream, headers }: H2Request): void {
  const { 'x-head': first, 'x-trailer': last } = headers;
  stream.respond(
    { ':status': 200, ...(first !== undefined && { 'x-usage': first }) },
    { waitForTrailers: true },
  );
  stream.on('wantTrailers', () => {
    if (last === undefined) stream.close();
    else stream.sendTrailers({ 'x-usage': last, 'x-sum': 'abc' });
  });
  stream.end('ok');
}

function talk(call: ServerDuplexStream<Buffer, Buffer>): void {
  const [price] = call.metadata.get('x-trailer');
  call.on('data', (bytes: Buffer) => call.write(bytes));
  call.on('end', () => {
    const trailers = new Metadata();
    trailers.set('x-usage', String(price));
    trailers.set('x-sum', 'abc');
    call.end(trailers);
  });
}

interface Front {
  readonly gateway: LocalGateway;
  /** What the caller has left. */
  left(): Promise<number>;
}

interface FrontSettings {
  readonly store?: ConfigPart | null;
  /** An upstream that the route `/other` leads to. Default: `api`. */
  readonly other?: ConfigPart;
}

async function front({ store = null, other }: FrontSettings = {}): Promise<Front> {
  const calls = await startGrpcServer({
    Talk: talk,
    Unary: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
      const trailers = new Metadata();
      trailers.set('x-usage', String(call.metadata.get('x-trailer')[0]));
      done(null, call.request, trailers);
    },
    Upload: () => {},
    Download: () => {},
  });
  const sockets = await startRawUpstream(
    ({ socket }) => void socket.write(agreement('X-Usage: 70', 'X-Other: 1'), 'latin1'),
  );
  const at = (port: number) => `http://127.0.0.1:${port}`;
  const open = { authentication: 'none' };
  const api = (await startUpstream(http1)).port;
  const gateway = await startGateway({
    upstreamPort: api,
    config: {
      limits: await tempText('limits.yaml', stringify(LIMITS)),
      listen: H2C,
      ...(store && { store }),
      log: { level: 'info', access: true },
      upstreams: {
        api: { url: at(api) },
        h2: { url: at((await startH2Upstream(http2)).port), protocol: 'h2' },
        calls: { url: at(calls), protocol: 'grpc' },
        sockets: { url: at(sockets.port) },
        other: other ?? { url: at(api) },
      },
      routes: [
        { path: '/h2', upstream: 'h2', ...open },
        { path: '/ws', upstream: 'sockets', websocket: true, ...open },
        { grpc: 'test.v1.Echo/*', upstream: 'calls', grpc_web: true, ...open },
        { path: '/other', upstream: 'other', ...open },
        { path: '/**', upstream: 'api', ...open },
      ],
    },
  });
  const left = async () =>
    Number(header(await gateway.ask(head('GET /left', 'X-Head: 0')), 'x-ratelimit-remaining'));
  return { gateway, left };
}

const REDIS = async () => {
  const server = await startRedis();
  onTestFinished(() => server.close());
  return { redis: `redis://127.0.0.1:${server.port}`, timeout: '1s' };
};

describe.each([
  ['memory', async () => null],
  ['Redis', REDIS],
])('counted in %s', (_, storeOf) => {
  test('a price is charged wherever its service says it, and stays inside', async () => {
    const store = await storeOf();
    const { gateway, left } = await front({ store });
    if (store !== null) await redisDecides(gateway);
    let expected = UNITS;
    const paid = async (price: number) => {
      expected -= price;
      await expect.poll(left).toBe(expected);
    };
    const usage = (fields: object) => JSON.stringify(fields).toLowerCase().includes('x-usage');

    const inHead = await gateway.ask(head('GET /a', 'X-Head: 350', 'X-Interim: 7'));
    expect([header(inHead, 'x-ratelimit-remaining'), usage(inHead), inHead.interim.length]).toEqual([
      String(expected - 350),
      false,
      1,
    ]);
    await paid(350);
    const behind = await gateway.ask(head('GET /a', 'X-Trailer: 420', 'TE: trailers', 'Connection: TE'));
    expect([behind.trailers, usage(behind)]).toEqual([['X-Sum', 'abc'], false]);
    await paid(420);
    const unasked = await gateway.ask(head('GET /a', 'X-Trailer: 40'));
    expect([unasked.trailers, usage(unasked)]).toEqual([[], false]);
    await paid(40);
    const old = await gateway.ask('GET /a HTTP/1.0\r\nHost: gateway.test\r\nX-Trailer: 30\r\n\r\n');
    expect([old.body.toString(), usage(old)]).toEqual(['ok', false]);
    await paid(30);
    const same = await gateway.ask(head('GET /a', 'X-Status: 304', 'X-Head: 5'));
    expect([same.status, usage(same)]).toEqual([304, false]);
    await paid(5);

    const session = connectHttp2(gateway);
    const first = await ask(session, { ':path': '/h2', 'x-head': '60' });
    expect([first.fields['x-ratelimit-remaining'], usage(first)]).toEqual([String(expected - 60), false]);
    await paid(60);
    const last = await ask(session, { ':path': '/h2', 'x-trailer': '61', te: 'trailers' });
    expect([last.trailers['x-sum'], usage(last)]).toEqual(['abc', false]);
    await paid(61);
    const none = await ask(session, { ':path': '/h2', 'x-trailer': '62' });
    expect([Object.keys(none.trailers), usage(none)]).toEqual([[], false]);
    await paid(62);
    expect(usage(await ask(session, { ':path': '/a', 'x-trailer': '63', te: 'trailers' }))).toBe(false);
    await paid(63);
    expect(usage(await gateway.ask(head('GET /h2', 'X-Trailer: 64', 'TE: trailers', 'Connection: TE')))).toBe(
      false,
    );
    await paid(64);

    const call = await callOnce(grpcClient(gateway.port), '/test.v1.Echo/Talk', undefined, {
      metadata: { 'x-trailer': '80' },
    });
    expect([call.status.metadata.get('x-sum'), call.status.metadata.get('x-usage')]).toEqual([['abc'], []]);
    await paid(80);
    const web = await post(gateway, '1.1', { body: framed('a'), fields: { 'x-trailer': '81' } });
    expect(readBody(web.body).trailers).toMatchObject({ 'grpc-status': '0' });
    expect(readBody(web.body).trailers).not.toHaveProperty('x-usage');
    await paid(81);

    const client = await gateway.connect();
    await client.send(handshake('/ws'));
    await expect.poll(() => client.received.toString('latin1')).toContain('X-Other: 1\r\n');
    expect(client.received.toString('latin1')).toContain(`X-RateLimit-Remaining: ${expected - 70}\r\n`);
    expect(usage([client.received.toString('latin1')])).toBe(false);
    await paid(70);
  });
});

test('without Redis, where a share is less than the reserve, a request pays its price of that', async () => {
  const store = { redis: `redis://127.0.0.1:${await freePort()}`, replicas: UNITS / 5 };
  const { gateway, left } = await front({ store });
  expect(header(await gateway.ask(head('GET /a', 'X-Head: 3')), 'x-ratelimit-remaining')).toBe('2');
  expect(await left()).toBe(2);
});

test.each(['http1', 'h2'])(
  'a client that leaves before a service of %s is connected pays the reserve',
  async protocol => {
    const port = await deafPort();
    const { gateway, left } = await front({ other: { url: `http://127.0.0.1:${port}`, protocol } });
    const client = await gateway.connect();
    await client.send(head('GET /other'));
    await expect.poll(left).toBe(UNITS - 10);
    client.reset();
    await expect.poll(async () => gateway.logLines.filter(line => line.includes('/other')).length).toBe(1);
    expect(await left()).toBe(UNITS - 10);
  },
);

test('a price that a reload no longer asks for is charged to the request that was admitted with it', async () => {
  const { gateway, left } = await front();
  waiting = Promise.withResolvers();
  const client = await gateway.connect();
  await client.send(head('GET /a', 'X-Trailer: 500', 'X-Wait: yes'));
  await expect.poll(() => client.received.toString('latin1')).toContain('ok');
  await changeLimits(gateway, { ...LIMITS, routes: { '/**': 'b', ...LEFT } });
  await serves(gateway, 2);
  waiting.resolve();
  await expect.poll(left).toBe(UNITS - 500);
});
