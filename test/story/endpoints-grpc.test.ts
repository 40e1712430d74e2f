import { type ServerDuplexStream, type sendUnaryData, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startCountingBalancer } from '../support/endpoints.ts';
import type { LocalGateway } from '../support/gateway.ts';
import { callOnce, ended, grpcClient, openCall, startMortalGrpcServer } from '../support/grpc.ts';
import { H2C } from '../support/http2-client.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const UNARY = '/test.v1.Echo/Unary';
const TALK = '/test.v1.Echo/Talk';

/** A server that counts its calls. */
interface CountingServer {
  readonly port: number;
  calls: number;
  /** The status that calls end with; `null`: they hang. */
  mode: status | null;
  readonly hanging: Set<sendUnaryData<Buffer>>;
  readonly talks: Set<ServerDuplexStream<Buffer, Buffer>>;
  die(): void;
  /** Starts it again on its port. */
  comeBack(): Promise<void>;
}

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

async function startCountingServer(): Promise<CountingServer> {
  const state: Pick<CountingServer, 'calls' | 'mode' | 'hanging' | 'talks'> = {
    ...{ calls: 0, mode: status.OK, hanging: new Set(), talks: new Set() },
  };
  const methods = {
    Unary: (_: unknown, answer: sendUnaryData<Buffer>) => {
      state.calls++;
      if (state.mode === null) state.hanging.add(answer);
      else if (state.mode === status.OK) answer(null, Buffer.from(String(state.calls)));
      else answer({ code: state.mode, details: 'not now' });
    },
    Talk: (call: ServerDuplexStream<Buffer, Buffer>) => {
      state.calls++;
      state.talks.add(call);
      call.on('data', bytes => call.write(bytes));
      call.on('end', () => call.end());
    },
    Upload: () => {},
    Download: () => {},
  };
  let server = await startMortalGrpcServer(methods);
  const { port } = server;
  return Object.assign(state, {
    port,
    die: () => server.die(),
    async comeBack() {
      server = await startMortalGrpcServer(methods, port);
    },
  });
}

/** Three servers, and a gateway before them with limits that Redis counts. In its world time stands still. */
async function front() {
  const servers = await Promise.all([startCountingServer(), startCountingServer(), startCountingServer()]);
  const clock = new FrozenClock(Date.now());
  const gateway = await startCountingBalancer('GRPC test.v1.Echo/*', redis, {
    upstreamPort: 0,
    clock,
    api: {
      ...{ url: undefined, urls: servers.map(({ port }) => `http://127.0.0.1:${port}`), protocol: 'grpc' },
      max_grpc_calls_per_caller: '100%',
    },
    config: {
      listen: H2C,
      routes: [{ grpc: 'test.v1.Echo/*', upstream: 'api', authentication: 'none' }],
    },
  });
  return { servers, gateway, clock, client: grpcClient(gateway.port) };
}

/** Makes calls, so many at once, and returns how often each status came. */
async function callsOf(
  client: ReturnType<typeof grpcClient>,
  times: number,
  { between = () => {}, atOnce = 1 } = {},
) {
  const counts: Record<number, number> = {};
  let left = times;
  const run = async () => {
    while (left-- > 0) {
      const { code } = (await callOnce(client, UNARY)).status;
      counts[code] = (counts[code] ?? 0) + 1;
      between();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  return counts;
}

const connectionsOf = async (gateway: LocalGateway) =>
  (await gateway.metric('weir_upstream_connections')).get('{upstream="api"}');

test('calls over one connection of a client go to every server', async () => {
  const { servers, client } = await front();
  expect(await callsOf(client, 60)).toEqual({ [status.OK]: 60 });
  for (const { calls } of servers) expect(calls).toBeGreaterThan(5);
});

test('a server that dies costs the calls that it had, and no later one', async () => {
  const { servers, gateway, client } = await front();
  const calls = Array.from({ length: 12 }, () => openCall(client, TALK));
  const results = calls.map(call => ended(call));
  for (const call of calls) call.write(Buffer.from('hello'));
  await waitFor('all are open', () => servers.reduce((sum, { talks }) => sum + talks.size, 0) === 12);
  const [dying] = servers;
  const lost = dying.talks.size;
  expect(lost).toBeGreaterThan(0);
  dying.die();
  await waitFor('its connection is gone', async () => (await connectionsOf(gateway)) === 2);
  expect(await callsOf(client, 60)).toEqual({ [status.OK]: 60 });
  for (const call of calls) call.end();
  const codes = (await Promise.all(results)).map(({ status: { code } }) => code);
  expect(codes.filter(code => code === status.OK)).toHaveLength(12 - lost);
});

test('a server that is unavailable is left out, though it answers 200', async () => {
  const { servers, clock, client } = await front();
  servers[0].mode = status.UNAVAILABLE;
  const counts = await callsOf(client, 100, { between: () => clock.advance(300) });
  expect(counts[status.UNAVAILABLE]).toBeGreaterThanOrEqual(5);
  expect(counts[status.UNAVAILABLE]).toBeLessThan(20);
  expect(counts[status.OK]).toBe(100 - (counts[status.UNAVAILABLE] ?? 0));
});

test('a server whose calls fail is not left out: its service may mean it', async () => {
  const { servers, client } = await front();
  servers[0].mode = status.INTERNAL;
  const counts = await callsOf(client, 150);
  expect(counts[status.INTERNAL]).toBeGreaterThan(15);
  expect(counts[status.OK]).toBe(150 - (counts[status.INTERNAL] ?? 0));
});

test('a client cannot have a server left out by deadlines of its own', async () => {
  const { servers, client, clock } = await front();
  const seen = () => servers.reduce((sum, { calls }) => sum + calls, 0);
  for (let i = 0; i < 20; i++) {
    // As a field and not by the client's own clock, so that the call reaches a server on a slow machine, too.
    const call = openCall(client, TALK, { metadata: { 'grpc-timeout': '2S' } });
    const result = ended(call);
    call.write(Buffer.from('hello'));
    await waitFor('the call reaches a server', () => seen() > i);
    clock.advance(2_000);
    expect((await result).status.code).toBe(status.DEADLINE_EXCEEDED);
  }
  for (const server of servers) server.calls = 0;
  await callsOf(client, 90);
  for (const { calls } of servers) expect(calls).toBeGreaterThan(10);
});
