import { type ServerDuplexStream, type sendUnaryData, status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { callOnce, ended, grpcClient, openCall, startMortalGrpcServer } from '../support/grpc.ts';
import { H2C } from '../support/http2-client.ts';
import { waitFor } from '../support/wait.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const UNARY = '/test.v1.Echo/Unary';
const TALK = '/test.v1.Echo/Talk';

/** A server that counts its calls. */
interface CountingServer {
  readonly port: number;
  calls: number;
  isUnavailable: boolean;
  readonly talks: Set<ServerDuplexStream<Buffer, Buffer>>;
  die(): void;
}

async function startCountingServer(): Promise<CountingServer> {
  const state = { calls: 0, isUnavailable: false, talks: new Set<ServerDuplexStream<Buffer, Buffer>>() };
  const server = await startMortalGrpcServer({
    Unary: (_: unknown, answer: sendUnaryData<Buffer>) => {
      state.calls++;
      if (state.isUnavailable) answer({ code: status.UNAVAILABLE, details: 'not now' });
      else answer(null, Buffer.from(String(state.calls)));
    },
    Talk: (call: ServerDuplexStream<Buffer, Buffer>) => {
      state.calls++;
      state.talks.add(call);
      call.on('data', bytes => call.write(bytes));
      call.on('end', () => call.end());
    },
    Upload: () => {},
    Download: () => {},
  });
  return Object.assign(state, server);
}

async function front() {
  const servers = await Promise.all([startCountingServer(), startCountingServer(), startCountingServer()]);
  const clock = new FrozenClock(Date.now());
  const gateway = await startGateway({
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

/** Makes calls one after the other. Returns how often each status came. */
async function callsOf(client: ReturnType<typeof grpcClient>, times: number, between = () => {}) {
  const counts: Record<number, number> = {};
  for (let i = 0; i < times; i++) {
    const { code } = (await callOnce(client, UNARY)).status;
    counts[code] = (counts[code] ?? 0) + 1;
    between();
  }
  return counts;
}

const connectionsOf = async (gateway: LocalGateway) =>
  (await gateway.metric('weir_upstream_connections')).get('{upstream="api"}');

test('calls over one connection of a client go to every server', async () => {
  const { servers, client } = await front();
  expect(await callsOf(client, 120)).toEqual({ [status.OK]: 120 });
  for (const { calls } of servers) expect(calls).toBeGreaterThan(20);
});

test('streams are spread by how many are open', async () => {
  const { servers, client } = await front();
  const calls = Array.from({ length: 30 }, () => openCall(client, TALK));
  for (const call of calls) {
    call.on('error', () => {});
    call.write(Buffer.from('hello'));
  }
  await waitFor('all are open', () => servers.reduce((sum, { talks }) => sum + talks.size, 0) === 30);
  for (const { talks } of servers) {
    expect(talks.size).toBeGreaterThan(7);
    expect(talks.size).toBeLessThan(13);
  }
  for (const call of calls) call.cancel();
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
  servers[0].isUnavailable = true;
  const counts = await callsOf(client, 100, () => clock.advance(300));
  expect(counts[status.UNAVAILABLE]).toBeGreaterThanOrEqual(5);
  expect(counts[status.UNAVAILABLE]).toBeLessThan(15);
  expect(counts[status.OK]).toBe(100 - (counts[status.UNAVAILABLE] ?? 0));
});

test('a client cannot have a server left out by deadlines of its own', async () => {
  const { servers, client, clock } = await front();
  for (let i = 0; i < 20; i++) {
    const call = openCall(client, TALK, { deadlineMs: 30 });
    const result = ended(call);
    call.write(Buffer.from('hello'));
    expect((await result).status.code).toBe(status.DEADLINE_EXCEEDED);
    clock.advance(2_000);
  }
  for (const server of servers) server.calls = 0;
  await callsOf(client, 90);
  for (const { calls } of servers) expect(calls).toBeGreaterThan(15);
});
