import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { TimerClock } from '../../src/core/index.ts';
import { startGateway } from '../support/gateway.ts';
import { type CallResult, callOnce, ended, grpcClient, openCall, startGrpcServer } from '../support/grpc.ts';
import { FLAG as CLIENT_FLAG, connectFrames, headers, TYPE } from '../support/http2-frames.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { scripts } from '../support/scripted-provider.ts';
import { redeem } from '../support/sign-in-client.ts';
import { clockOfTests, inTime } from '../support/test-clock.ts';
import { startIssuer, validFor } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

type Talk = ServerDuplexStream<Buffer, Buffer>;

const TALK = '/test.v1.Echo/Talk';
const nowS = () => Math.floor(Date.now() / 1_000);

/** A service that sends its head, and further messages only if a test does. */
function patient() {
  const calls: Talk[] = [];
  const talk = (call: Talk) => {
    calls.push(call);
    call.on('data', () => {});
    call.sendMetadata(new Metadata());
  };
  return { calls, talk };
}

/** A service behind a gateway that looks at tokens; `route` are keys of its route, `caps` of its upstream. */
async function front(route: object = {}, caps: object = {}, clock: TimerClock = clockOfTests()) {
  const { calls, talk } = patient();
  const url = `http://127.0.0.1:${await startGrpcServer({ Talk: talk })}`;
  const issuer = await startIssuer();
  const { gateway } = await startGatewayOf(issuer, {
    tokens: { leeway: '0s' },
    clock,
    routes: [{ grpc: 'test.v1.Echo/*', upstream: 'calls', ...route }],
    config: {
      listen: { http: { address: '127.0.0.1:0', h2c: true }, admin: '127.0.0.1:0' },
      upstreams: { api: { url: 'http://127.0.0.1:1' }, calls: { url, protocol: 'grpc', ...caps } },
    },
  });
  const client = grpcClient(gateway.port);
  /** Opens a call with a token of these claims; resolves when it runs at the service. */
  const open = async (
    claims: Parameters<typeof issuer.token>[0],
  ): Promise<{ readonly result: Promise<CallResult> }> => {
    const call = openCall(client, TALK, { metadata: { authorization: `Bearer ${issuer.token(claims)}` } });
    const result = ended(call);
    await new Promise(resolve => call.once('metadata', resolve));
    return { result };
  };
  return { issuer, gateway, calls, client, open };
}

describe('a gRPC call under way', () => {
  it('ends with UNAUTHENTICATED when its token expires, on a route with close_at_expiry', async () => {
    const time = new FrozenClock(Date.now());
    const { calls, open } = await front({ close_at_expiry: true }, {}, time);
    const { result } = await open(validFor(60, time));
    const longer = await open(validFor(120, time));
    time.advance(58_000);
    expect(calls.map(({ cancelled }) => cancelled)).toEqual([false, false]);
    time.advance(3_000);
    expect((await result).status.code).toBe(16);
    await waitFor('it is cancelled at its service', () => calls[0]?.cancelled === true);
    calls[1]?.end();
    expect((await longer.result).status.code).toBe(0);
  });

  it('ends with UNAUTHENTICATED when a not-before mark makes its token invalid, and no other subject’s does', async () => {
    const { issuer, gateway, calls, open } = await front();
    const alices = await open({ iat: nowS() - 60 });
    const bobs = await open({ iat: nowS() - 60, sub: 'bob' });
    issuer.provider.token = scripts.tokens({
      access_token: issuer.token(),
      'not-before-policy': nowS() - 30,
    });
    expect((await redeem(gateway, 'a-code', 'https://app.example/callback')).status).toBe(200);
    expect((await inTime(gateway.time, alices.result)).status.code).toBe(16);
    await waitFor('it is cancelled at its service', () => calls[0]?.cancelled === true);
    calls[1]?.end();
    expect((await bobs.result).status.code).toBe(0);
  });

  it('counts against the share of its caller, whom it leaves no further one, and not against others', async () => {
    const { issuer, client, calls, open } = await front(
      {},
      { max_grpc_calls: 4, max_grpc_calls_per_caller: '50%' },
    );
    const once = (sub: string) =>
      callOnce(client, TALK, [], { metadata: { authorization: `Bearer ${issuer.token({ sub })}` } });
    const alices = [await open({}), await open({})];
    const { status } = await once('alice');
    expect([status.code, status.metadata.get('retry-after')]).toEqual([14, ['1']]);
    expect(status.details).toContain('Too many of your gRPC calls are in flight');
    const bobs = await open({ sub: 'bob' });
    for (const call of calls) call.end();
    for (const { result } of [...alices, bobs]) expect((await result).status.code).toBe(0);
  });
});

/** A listener of gRPC whose clients are asked after a minute of silence, and have half of one to answer. */
async function startListener(clock: TimerClock) {
  const { calls, talk } = patient();
  const url = `http://127.0.0.1:${await startGrpcServer({ Talk: talk })}`;
  const gateway = await startGateway({
    upstreamPort: 0,
    clock,
    config: {
      listen: { http: '127.0.0.1:0', grpc: '127.0.0.1:0', admin: '127.0.0.1:0' },
      upstreams: { calls: { url, protocol: 'grpc' } },
      routes: [{ grpc: 'test.v1.Echo/*', upstream: 'calls', authentication: 'none' }],
      timeouts: { keep_alive: '65s', client_read: '60s' },
    },
  });
  return { calls, port: gateway.app.addresses.grpc?.port ?? 0 };
}

const CALL: [string, string][] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', TALK],
  [':authority', 'a.test'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
];

describe('on a listener of gRPC', () => {
  it('a client that answers no PING is given up, its call is cancelled, and a silent one that answers lives', async () => {
    const time = new FrozenClock();
    const { calls, port } = await startListener(time);
    const dead = await (await connectFrames(port)).begin();
    await dead.send(headers(1, CALL, CLIENT_FLAG.endHeaders));
    await waitFor('it is served', () => calls.length === 1);
    const living = openCall(grpcClient(port), TALK);
    const result = ended(living);
    await waitFor('both are served', () => calls.length === 2);
    await time.advanceUntil('its connection is cut', () => dead.closed, 250);
    await dead.next(each => each.type === TYPE.ping && each.flags !== CLIENT_FLAG.ack);
    await waitFor('it is cancelled at its service', () => calls[0]?.cancelled === true);
    // The other has been silent for longer than that meanwhile, and is still there.
    await waitFor('it is served', () => calls.length === 2);
    expect(calls[1]?.cancelled).toBe(false);
    calls[1]?.end();
    expect((await result).status.code).toBe(0);
  });
});
