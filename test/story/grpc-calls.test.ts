import { constants } from 'node:http2';
import { Metadata, type ServerDuplexStream, type UntypedServiceImplementation } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { makeCertificates } from '../support/certificates.ts';
import { expectError } from '../support/error-object.ts';
import { data, frame, headers, startFrameUpstream, TYPE, uint32 } from '../support/frame-upstream.ts';
import { type GatewaySettings, type LocalGateway, startGateway } from '../support/gateway.ts';
import {
  type CallResult,
  callOnce,
  ended,
  grpcClient,
  openCall,
  postRaw,
  startDyingServer,
  startGrpcServer,
} from '../support/grpc.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { withBody } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { inTime } from '../support/test-clock.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

type Talk = ServerDuplexStream<Buffer, Buffer>;

/** Sends every message back, and the metadata: at the head, and at the end with another name. */
function echo(call: Talk): void {
  const head = new Metadata();
  for (const value of call.metadata.get('x-mark')) head.add('x-mark', value);
  for (const value of call.metadata.get('x-bytes-bin')) head.add('x-bytes-bin', value);
  call.sendMetadata(head);
  call.on('data', (bytes: Buffer) => {
    if (!call.write(bytes)) {
      call.pause();
      call.once('drain', () => call.resume());
    }
  });
  call.on('end', () => {
    const trailers = new Metadata();
    for (const value of call.metadata.get('x-bytes-bin')) trailers.add('y-bytes-bin', value);
    trailers.add('y-mark', 'one');
    trailers.add('y-mark', 'two');
    trailers.add('retry-after', '7');
    call.end(trailers);
  });
}

function fail(code: number, details: string, metadata = new Metadata()) {
  return (call: Talk) => void call.emit('error', { code, details, metadata });
}

async function start(
  talk: (call: Talk) => void = echo,
  more: Partial<GatewaySettings> & { upstream?: object; route?: object } = {},
): Promise<LocalGateway> {
  const methods: UntypedServiceImplementation = {
    Talk: talk,
    Unary: echoUnary,
    Upload: count,
    Download: repeat,
  };
  const port = await startGrpcServer(methods);
  return startGateway({
    upstreamPort: port,
    config: {
      listen: { http: { address: '127.0.0.1:0', h2c: true }, admin: '127.0.0.1:0' },
      upstreams: { calls: { url: `http://127.0.0.1:${port}`, protocol: 'grpc', ...more.upstream } },
      routes: [{ grpc: 'test.v1.Echo/*', upstream: 'calls', authentication: 'none', ...more.route }],
      log: { level: 'info', access: true },
      ...more.config,
    },
  });
}

const echoUnary: UntypedServiceImplementation[string] = (
  call: { request: Buffer },
  done: (e: null, m: Buffer) => void,
) => done(null, call.request);
const count = (call: NodeJS.ReadableStream, done: (e: null, m: Buffer) => void) => {
  let bytes = 0;
  call.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  call.on('end', () => done(null, Buffer.from(String(bytes))));
};
const repeat = (call: { request: Buffer; write(m: Buffer): void; end(): void }) => {
  for (let i = 0; i < Number(call.request.toString()); i++) call.write(Buffer.from(String(i)));
  call.end();
};

/** The first message of the call's status details, which is about when to try again. */
function retryInfoOf(metadata: Metadata) {
  const [bytes = ''] = metadata.get('grpc-status-details-bin');
  const status = google.lookupType('google.rpc.Status').decode(Buffer.from(bytes)).toJSON();
  const [any] = status.details;
  expect(any.typeUrl).toBe('type.googleapis.com/google.rpc.RetryInfo');
  const info = google.lookupType('google.rpc.RetryInfo').decode(Buffer.from(any.value, 'base64')).toJSON();
  const { seconds, nanos = 0 } = info.retryDelay;
  return { code: status.code, message: status.message, retryAfterS: Number(seconds) + nanos / 1e9 };
}

/** As google publishes them. */
const google = protobuf.parse(
  `
  syntax = "proto3";
  package google.rpc;
  message Any { string type_url = 1; bytes value = 2; }
  message Duration { int64 seconds = 1; int32 nanos = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message RetryInfo { Duration retry_delay = 1; }
`,
  { keepCase: false },
).root;

const text = ({ messages }: CallResult) => messages.map(String);

describe('a gRPC call', () => {
  it('passes in all four kinds', async () => {
    const gateway = await start();
    const client = grpcClient(gateway.port);
    expect(text(await callOnce(client, '/test.v1.Echo/Unary'))).toEqual(['hello']);
    const parts = Array.from({ length: 50 }, () => Buffer.alloc(1_000));
    expect(text(await callOnce(client, '/test.v1.Echo/Upload', parts))).toEqual(['50000']);
    const download = await callOnce(client, '/test.v1.Echo/Download', [Buffer.from('100')]);
    expect(text(download)).toEqual(Array.from({ length: 100 }, (_, i) => String(i)));
    const talk = openCall(client, '/test.v1.Echo/Talk');
    const result = ended(talk);
    for (const word of ['a', 'b', 'c']) {
      talk.write(Buffer.from(word));
      await new Promise(resolve => talk.once('data', resolve));
    }
    talk.end();
    expect(text(await result)).toEqual(['a', 'b', 'c']);
    expect((await result).status.code).toBe(0);
  });

  it('carries metadata both ways, binary and doubled ones unchanged', async () => {
    const gateway = await start();
    const bytes = [Buffer.from([0, 255, 10, 13]), Buffer.from('two')];
    const { head, status } = await callOnce(grpcClient(gateway.port), '/test.v1.Echo/Talk', [], {
      metadata: { 'x-mark': ['a', 'b'], 'x-bytes-bin': bytes },
    });
    expect(head.get('x-mark').join()).toBe('a, b');
    expect(head.get('x-bytes-bin')).toEqual(bytes);
    expect(status.metadata.get('y-bytes-bin')).toEqual(bytes);
    expect(status.metadata.get('y-mark').join()).toBe('one, two');
    expect(status.metadata.get('retry-after')).toEqual(['7']);
  });

  it('passes messages of megabytes, at the pace of who takes them', async () => {
    const gateway = await start();
    const big = [0, 1, 2].map(seed => Buffer.alloc(5_000_000, String(seed)));
    const { messages, status } = await callOnce(grpcClient(gateway.port), '/test.v1.Echo/Talk', big);
    expect(status.code).toBe(0);
    expect(messages.map((message, i) => message.equals(big[i] ?? message.subarray(1)))).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('ends with the status of its service, in its words', async () => {
    const metadata = new Metadata();
    metadata.add('x-why', 'because');
    const gateway = await start(fail(9, 'no: 5% é ☺', metadata));
    const { status } = await callOnce(grpcClient(gateway.port), '/test.v1.Echo/Talk');
    expect([status.code, status.details]).toEqual([9, 'no: 5% é ☺']);
    expect(status.metadata.get('x-why')).toEqual(['because']);
  });
});

/** A service that gets calls and never says anything of its own accord. */
function silent() {
  const calls: Talk[] = [];
  const arrived: (() => void)[] = [];
  const talk = (call: Talk) => {
    calls.push(call);
    call.on('data', () => {});
    arrived.shift()?.();
  };
  const next = () => new Promise<void>(resolve => arrived.push(resolve));
  return { calls, talk, next };
}

const cancelled = (call: Talk | undefined) =>
  new Promise<void>(resolve => (call?.cancelled === false ? call.once('cancelled', resolve) : resolve()));

describe('a gRPC call that is refused', () => {
  it('ends with UNIMPLEMENTED without a gRPC route, whatever path routes exist', async () => {
    const gateway = await start(echo, {
      config: {
        upstreams: {
          calls: { url: 'http://127.0.0.1:1', protocol: 'grpc' },
          api: { url: 'http://127.0.0.1:1' },
        },
        routes: [
          { path: '/**', upstream: 'api', authentication: 'none' },
          { grpc: 'test.v1.Echo/Unary', upstream: 'calls', authentication: 'none' },
        ],
      },
    });
    const client = grpcClient(gateway.port);
    for (const path of ['/test.v1.Echo/Talk', '/test.v1.echo/Unary', '/v1/things']) {
      const { status } = await callOnce(client, path);
      expect([status.code, status.details]).toEqual([12, 'There is nothing at this path.']);
    }
    const { status } = await callOnce(client, '/test.v1.Echo/Unary');
    expect([status.code, status.details]).toEqual([14, 'The service behind the gateway failed to answer.']);
  });

  it('ends with RESOURCE_EXHAUSTED if its bucket is exhausted, with the headers and the time to retry', async () => {
    const limits = await tempText(
      'limits.yaml',
      'global: off\nbuckets: { b: { address: 1/1h } }\nroutes: { GRPC test.v1.Echo/Talk: b }\n',
    );
    const gateway = await start(echo, { config: { limits } });
    const client = grpcClient(gateway.port);
    const first = await callOnce(client, '/test.v1.Echo/Talk');
    expect(first.status.code).toBe(0);
    expect(first.head.get('x-ratelimit-remaining')).toEqual(['0']);
    expect(first.head.get('via')[0]).toContain('weir');
    const { status } = await callOnce(client, '/test.v1.Echo/Talk');
    expect([status.code, status.details]).toEqual([8, 'You are being rate limited.']);
    expect(Number(status.metadata.get('retry-after')[0])).toBeGreaterThan(3_590);
    expect(status.metadata.get('x-ratelimit-scope')).toEqual(['user']);
    expect(retryInfoOf(status.metadata)).toMatchObject({ code: 8, message: 'You are being rate limited.' });
    expect(retryInfoOf(status.metadata).retryAfterS).toBeGreaterThan(3_590);
    // Other methods draw on nothing.
    expect((await callOnce(client, '/test.v1.Echo/Unary')).status.code).toBe(0);
    await expect.poll(() => accessLines(gateway).length).toBe(3);
    expect(accessLines(gateway)[1]).toMatchObject({
      protocol: 'grpc',
      route: 'GRPC test.v1.Echo/*',
      status: 429,
      grpcStatus: 8,
      outcome: 'answered',
    });
    expect(
      (await gateway.counted('weir_grpc_calls_total')).get('{route="GRPC test.v1.Echo/*",code="OK"}'),
    ).toBe(2);
  });

  it('counts as an invalid request of its address, and so does what its service refuses', async () => {
    const limits = await tempText('limits.yaml', 'global: off\ninvalid_requests: { limit: 3/1h }\n');
    const gateway = await start(fail(16, 'who are you?'), { config: { limits } });
    const client = grpcClient(gateway.port);
    for (let i = 0; i < 4; i++) {
      const { status } = await callOnce(client, '/test.v1.Echo/Talk');
      expect([status.code, status.details]).toEqual([16, 'who are you?']);
    }
    const { status } = await callOnce(client, '/test.v1.Echo/Talk');
    expect(status.code).toBe(8);
    expect(status.details).toContain('temporarily restricted');
    expect(status.metadata.get('via')).toEqual([]);
  });

  it('by a limit of its service counts as the service means it, and its bucket is shared', async () => {
    const text = `global: off
invalid_requests: { limit: 3/1h }
buckets: { talks: { address: 9/1h } }
routes: { GRPC test.v1.Echo/Talk: talks }
`;
    for (const scope of ['user', 'global', 'shared']) {
      const metadata = new Metadata();
      metadata.set('x-ratelimit-scope', scope);
      const gateway = await start(fail(8, 'theirs', metadata), {
        config: { limits: await tempText('limits.yaml', text) },
      });
      const client = grpcClient(gateway.port);
      for (let i = 0; i < 4; i++) {
        const { status } = await callOnce(client, '/test.v1.Echo/Talk');
        expect([status.code, status.details]).toEqual([8, 'theirs']);
        expect(status.metadata.get('x-ratelimit-scope')).toEqual(['shared']);
      }
      const { status } = await callOnce(client, '/test.v1.Echo/Talk');
      expect(status.details).toMatch(scope === 'shared' ? 'theirs' : 'temporarily restricted');
    }
  });

  it('ends with UNAVAILABLE past the cap on calls of its upstream or caller, which is separate from that on requests', async () => {
    const { talk, calls, next } = silent();
    const caps = { max_grpc_calls: 2, max_grpc_calls_per_caller: '100%' };
    const gateway = await start(talk, { upstream: caps });
    const client = grpcClient(gateway.port);
    for (let i = 0; i < 2; i++) {
      const arrived = next();
      void ended(openCall(client, '/test.v1.Echo/Talk'));
      await arrived;
    }
    const third = await callOnce(client, '/test.v1.Echo/Talk');
    expect([third.status.code, third.status.metadata.get('retry-after')]).toEqual([14, ['1']]);
    expect(third.status.details).toContain('Too many of your gRPC calls are in flight');
    calls[0]?.end();
    await expect.poll(async () => (await callOnce(client, '/test.v1.Echo/Unary')).status.code).toBe(0);
  });
});

describe('the time of a gRPC call', () => {
  it('is over at its deadline for a client that does not look at the clock', async () => {
    const { talk, calls } = silent();
    const gateway = await start(talk);
    // The service goes by the clock of the machine, and must not be the first to give up.
    const raw = postRaw(gateway.port, { 'grpc-timeout': '60S' });
    await expect.poll(() => calls.length).toBe(1);
    const head = await inTime(gateway.time, raw);
    expect(head).toMatchObject({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '4' });
    await inTime(gateway.time, cancelled(calls[0]));
    await gateway.time.advanceUntil('it is logged', () => accessLines(gateway).length > 0);
    expect(accessLines(gateway)[0]).toMatchObject({ status: 504, grpcStatus: 4 });
  });
});

describe('a silent gRPC call', () => {
  it('outlasts every time that ordinary requests have', async () => {
    const time = new FrozenClock(Date.now());
    const gateway = await start(echo, {
      clock: time,
      config: { timeouts: { client_body: '50ms', client_read: '50ms' } },
    });
    const call = openCall(grpcClient(gateway.port), '/test.v1.Echo/Talk');
    const result = ended(call);
    call.write(Buffer.from('a'));
    await new Promise(resolve => call.once('data', resolve));
    // Longer than any of them by default.
    time.advance(600_000);
    call.write(Buffer.from('b'));
    call.end();
    expect(text(await result)).toEqual(['a', 'b']);
    expect((await result).status.code).toBe(0);
  });
});

/** Codes of RST_STREAM, and the statuses that they mean (gRPC over HTTP/2, "Errors"). */
const RESETS = [
  [constants.NGHTTP2_CANCEL, 1],
  [constants.NGHTTP2_ENHANCE_YOUR_CALM, 8],
  [constants.NGHTTP2_INADEQUATE_SECURITY, 7],
  [constants.NGHTTP2_REFUSED_STREAM, 14],
  [constants.NGHTTP2_INTERNAL_ERROR, 13],
  [constants.NGHTTP2_NO_ERROR, 13],
  [99, 13],
] as const;

/** The same frame for this stream. */
function onStream(bytes: Buffer, stream: number): Buffer {
  const moved = Buffer.from(bytes);
  moved.writeUInt32BE(stream, 5);
  return moved;
}

describe('a gRPC call that is given up', () => {
  it('by its client is cancelled at its service', async () => {
    const { talk, calls, next } = silent();
    const gateway = await start(talk);
    const arrived = next();
    const call = openCall(grpcClient(gateway.port), '/test.v1.Echo/Talk');
    const result = ended(call);
    call.write(Buffer.from('x'));
    await arrived;
    call.cancel();
    expect((await result).status.code).toBe(1);
    await cancelled(calls[0]);
    await expect.poll(async () => (await gateway.metric('weir_requests_in_flight')).get('')).toBe(0);
  });

  const REFUSED_STREAM = 7;

  it('by a reset of its service ends with the status that gRPC has for its code, before its head and after', async () => {
    const resets: Buffer[][] = [];
    const { port } = await startFrameUpstream({
      stream: (peer, id) => {
        const [reset, ...before] = (resets.shift() ?? []).map(bytes => onStream(bytes, id));
        peer.send(...before, reset ?? Buffer.alloc(0));
      },
    });
    const gateway = await start(echo, { upstream: { url: `http://127.0.0.1:${port}` } });
    const client = grpcClient(gateway.port, { 'grpc.enable_retries': 0 });
    const head = headers(0, { ':status': '200', 'content-type': 'application/grpc' });
    const part = data(0, Buffer.from('\0\0\0\0\x04part'));
    for (const [code, status] of RESETS) {
      const reset = frame(TYPE.rstStream, 0, 0, uint32(code));
      // A refused call goes again, three times in all.
      const attempts = code === REFUSED_STREAM ? 3 : 1;
      resets.push(...Array.from({ length: attempts }, () => [reset]), [reset, head, part]);
      const before = await callOnce(client, '/test.v1.Echo/Talk');
      const after = await callOnce(client, '/test.v1.Echo/Talk');
      expect([code, before.status.code, after.status.code, text(after)]).toEqual([
        ...[code, status, status],
        ['part'],
      ]);
    }
    // None of them is the caller's fault, whatever its name.
    await expect
      .poll(() => accessLines(gateway).map(({ status }) => status))
      .toEqual(RESETS.flatMap(() => [502, 200]));
    expect(await gateway.counted('weir_invalid_requests_total')).toEqual(new Map());
  });

  it('by a service whose connection breaks is UNAVAILABLE, before its head and after', async () => {
    const dying = await startDyingServer();
    const gateway = await start(echo, { upstream: { url: `http://127.0.0.1:${dying}` } });
    const client = grpcClient(gateway.port, { 'grpc.enable_retries': 0 });
    const before = await callOnce(client, '/test.v1.Echo/Talk', [], { metadata: { 'x-when': 'before' } });
    expect(before.status.code).toBe(14);
    const after = await callOnce(client, '/test.v1.Echo/Talk', [], { metadata: { 'x-when': 'after' } });
    expect(after.status.code).toBe(14);
    expect(text(after)).toEqual(['part']);
  });
});

describe('a gRPC call under way', () => {
  it('ends when its address is restricted, before its head is sent and after', async () => {
    const limits = await tempText('limits.yaml', 'global: off\ninvalid_requests: { limit: 2/1h }\n');
    const talk = (call: Talk) => {
      if (call.metadata.get('x-mark')[0] === 'denied') fail(7, 'no')(call);
      else if (call.metadata.get('x-mark')[0] === 'head') call.sendMetadata(new Metadata());
    };
    const gateway = await start(talk, { config: { limits } });
    const client = grpcClient(gateway.port);
    const inProgress = ['head', 'none'].map(mark =>
      ended(openCall(client, '/test.v1.Echo/Talk', { metadata: { 'x-mark': mark } })),
    );
    for (let i = 0; i < 3; i++) {
      const { status } = await callOnce(client, '/test.v1.Echo/Talk', [], {
        metadata: { 'x-mark': 'denied' },
      });
      expect(status.code).toBe(7);
    }
    for (const { status } of await inTime(gateway.time, Promise.all(inProgress))) {
      expect(status.code).toBe(8);
      expect(status.details).toContain('temporarily restricted');
    }
  });
});

describe('draining', () => {
  it('lets calls under way finish, and accepts no further ones on their connection', async () => {
    const gateway = await start();
    const client = grpcClient(gateway.port);
    const call = openCall(client, '/test.v1.Echo/Talk');
    const result = ended(call);
    call.write(Buffer.from('a'));
    await new Promise(resolve => call.once('data', resolve));
    const drained = gateway.app.drain();
    call.write(Buffer.from('b'));
    await new Promise(resolve => call.once('data', resolve));
    call.end();
    expect(text(await result)).toEqual(['a', 'b']);
    expect((await result).status.code).toBe(0);
    expect(await drained).toBe(true);
  });
});

it('a call over HTTP/1.1, as proxies speak it to their servers, is refused in words', async () => {
  const gateway = await start(echo);
  const call = (service: string) =>
    gateway.ask(withBody(`POST /${service}/Talk`, '\0\0\0\0\0', 'Content-Type: application/grpc+proto'));
  const refused = await call('test.v1.Echo');
  expectError(refused, 415, 3);
  expect(refused.body.toString()).toContain('HTTP/2');
  expectError(await call('test.v1.Other'), 404, 5);
});

describe('a listener of gRPC', () => {
  it('serves calls, and refuses everything else in words', async () => {
    const gateway = await start(echo, {
      config: { listen: { http: '127.0.0.1:0', grpc: '127.0.0.1:0', admin: '127.0.0.1:0' } },
    });
    const port = gateway.app.addresses.grpc?.port ?? 0;
    expect(text(await callOnce(grpcClient(port), '/test.v1.Echo/Talk'))).toEqual(['hello']);
    const head = await postRaw(port, { 'content-type': 'application/json' });
    expect(head).toMatchObject({ ':status': 415, 'content-type': 'application/json' });
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  });

  it('speaks TLS, as the listener of ordinary requests does, which serves both', async () => {
    const { ca, server } = makeCertificates();
    const tls = {
      certificates: [
        {
          certificate_file: await tempText('tls.crt', server.certificate),
          key_file: await tempText('tls.key', server.key),
        },
      ],
    };
    const gateway = await start(echo, {
      config: {
        listen: {
          http: { address: '127.0.0.1:0', tls },
          grpc: { address: '127.0.0.1:0', tls },
          admin: '127.0.0.1:0',
        },
      },
    });
    for (const port of [gateway.port, gateway.app.addresses.grpc?.port ?? 0]) {
      const result = await callOnce(grpcClient(port, {}, ca), '/test.v1.Echo/Talk');
      expect([text(result), result.status.code]).toEqual([['hello'], 0]);
    }
  });
});
