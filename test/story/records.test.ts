import { describe, expect, test } from 'vitest';
import type { TimerClock } from '../../src/core/index.ts';
import { Curl, VERSIONS } from '../support/curl.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { startH2Upstream } from '../support/h2-upstream.ts';
import { ask, connectHttp2, H2C } from '../support/http2-client.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { clockOfTests } from '../support/test-clock.ts';
import { waitFor } from '../support/wait.ts';
import { type Script, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const PROTOCOL = { 'HTTP/1.1': 'http1', 'HTTP/2': 'h2' } as const;

/** A gateway whose access log can be read, in front of an upstream with this script. */
async function front(script: Script, route = {}, clock: TimerClock = clockOfTests()) {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    route,
    clock,
    config: { listen: H2C, log: { level: 'info', access: true } },
  });
  return { gateway, upstream, url: `http://127.0.0.1:${gateway.port}` };
}

/** The line of the one request, once it is there. */
async function onlyLine(gateway: LocalGateway): Promise<Readonly<Record<string, unknown>>> {
  await expect.poll(() => accessLines(gateway).length).toBe(1);
  return accessLines(gateway)[0] ?? {};
}

async function expectCounted(gateway: LocalGateway, protocol: string, what: string): Promise<void> {
  const requests = await gateway.counted('weir_requests_total');
  expect([...requests]).toEqual([[`{${what},protocol="${protocol}"}`, 1]]);
}

async function bytes(gateway: LocalGateway): Promise<readonly unknown[]> {
  const [received, sent] = [
    await gateway.counted('weir_request_body_bytes_total'),
    await gateway.counted('weir_response_body_bytes_total'),
  ];
  return [received.get(''), sent.get('')];
}

describe.each(VERSIONS)('what is recorded of a request over %s', (version, flag) => {
  const protocol = PROTOCOL[version];

  test('is true of one that was served: its bytes, its times, its end', async () => {
    const clock = new FrozenClock();
    const headIsThere = Promise.withResolvers<void>();
    const script: Script = async exchange => {
      await exchange.received();
      clock.advance(2_000);
      await exchange.send('HTTP/1.1 201 Created\r\nContent-Length: 5000\r\n\r\n');
      await headIsThere.promise;
      clock.advance(3_000);
      await exchange.send('-'.repeat(5_000));
    };
    const { gateway, url } = await front(script, {}, clock);
    const data = ['--data-binary', 'x'.repeat(1_000)];
    const curl = new Curl(flag, '-o', '/dev/null', '-D', '-', ...data, `${url}/a`);
    await waitFor('the head is there', () => curl.output.includes(' 201'));
    headIsThere.resolve();
    expect(await curl.ended()).toBe(0);
    const line = await onlyLine(gateway);
    expect(line).toMatchObject({
      ...{ protocol, status: 201, outcome: 'forwarded', bytesReceived: 1_000, bytesSent: 5_000 },
    });
    expect(line).toMatchObject({ upstreamMs: 2_000, durationMs: 5_000 });
    await expectCounted(gateway, protocol, 'route="/**",status="201",outcome="forwarded"');
    expect(await bytes(gateway)).toEqual([1_000, 5_000]);
    const durations = await gateway.metric('weir_request_duration_seconds_sum');
    expect(durations.get('{upstream="api"}')).toBeCloseTo(Number(line.durationMs) / 1_000, 5);
  });

  test('is true of chunks: their bytes without what frames them', async () => {
    const { gateway, url } = await front(async exchange => {
      await exchange.received();
      await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (let i = 0; i < 10; i++) await exchange.send(`3\r\n${'-'.repeat(3)}\r\n`);
      await exchange.send('0\r\n\r\n');
    });
    const curl = new Curl(flag, '-o', '/dev/null', '-H', 'Expect:', '-T', '-', `${url}/a`);
    curl.write('12345');
    curl.endInput();
    expect(await curl.ended()).toBe(0);
    expect(await onlyLine(gateway)).toMatchObject({ bytesReceived: 5, bytesSent: 30, outcome: 'forwarded' });
  });

  test('is true of one that the gateway refuses', async () => {
    const { gateway, url } = await front(() => {}, { max_body: '10B' });
    const curl = new Curl(
      flag,
      '-o',
      '/dev/null',
      '-w',
      '%{size_download}',
      '-d',
      'x'.repeat(11),
      `${url}/a`,
    );
    expect(await curl.ended()).toBe(0);
    const line = await onlyLine(gateway);
    expect(line).toMatchObject({ protocol, status: 413, outcome: 'answered', upstreamMs: null });
    expect(line.bytesSent).toBe(Number(curl.output));
    await expectCounted(gateway, protocol, 'route="/**",status="413",outcome="answered"');
  });

  test('is true of one whose upstream breaks off', async () => {
    const isThere = Promise.withResolvers<void>();
    const { gateway, url } = await front(async exchange => {
      await exchange.received();
      await exchange.send(`HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n${'-'.repeat(100)}`);
      await isThere.promise;
      exchange.connection.destroy();
    });
    const curl = new Curl(flag, `${url}/a`);
    await curl.hasWritten('-'.repeat(100));
    isThere.resolve();
    expect(await curl.ended()).not.toBe(0);
    expect(await onlyLine(gateway)).toMatchObject({
      ...{ protocol, status: 200, outcome: 'truncated', bytesSent: 100 },
    });
    await expectCounted(gateway, protocol, 'route="/**",status="200",outcome="truncated"');
  });

  test('is true of one whose client leaves', async () => {
    const { gateway, url } = await front(async exchange => {
      await exchange.received();
      await exchange.send(`HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n${'-'.repeat(100)}`);
      await exchange.gone;
    });
    const curl = new Curl(flag, `${url}/a`);
    await curl.hasWritten('-'.repeat(100));
    await curl.kill();
    await gateway.time.advanceUntil('it is recorded', () => accessLines(gateway).length === 1);
    expect(await onlyLine(gateway)).toMatchObject({
      ...{ protocol, status: 200, outcome: 'abandoned', bytesReceived: 0, bytesSent: 100 },
    });
    await expectCounted(gateway, protocol, 'route="/**",status="200",outcome="abandoned"');
    expect([...(await gateway.metric('weir_requests_in_flight')).values()]).toEqual([0]);
  });
});

describe('what is recorded of a gRPC call', () => {
  /** A gateway that serves calls of one service, which ends them with this status. */
  async function service(status: string) {
    const upstream = await startH2Upstream(async ({ stream, body }) => {
      const message = await body();
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }));
      stream.end(message.repeat(3));
    });
    return await startGateway({
      upstreamPort: upstream.port,
      api: { protocol: 'grpc' },
      config: {
        listen: H2C,
        routes: [{ grpc: 'test.Echo/*', upstream: 'api', authentication: 'none' }],
        log: { level: 'info', access: true },
      },
    });
  }

  const call = (gateway: LocalGateway, path: string) =>
    ask(
      connectHttp2(gateway),
      { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' },
      Buffer.from('\0\0\0\0\x05hello'),
    );

  test.each(['0', '5'])('is true of one that its service ended with status %s', async status => {
    const gateway = await service(status);
    expect((await call(gateway, '/test.Echo/Unary')).trailers['grpc-status']).toBe(status);
    expect(await onlyLine(gateway)).toMatchObject({
      ...{ protocol: 'grpc', status: 200, grpcStatus: Number(status), outcome: 'forwarded' },
      ...{ bytesReceived: 10, bytesSent: 30 },
    });
    await expectCounted(gateway, 'grpc', 'route="GRPC test.Echo/*",status="200",outcome="forwarded"');
  });

  test('is true of one that the gateway refuses', async () => {
    const gateway = await service('0');
    expect((await call(gateway, '/test.Other/Unary')).fields['grpc-status']).toBe('12');
    expect(await onlyLine(gateway)).toMatchObject({
      ...{ protocol: 'grpc', grpcStatus: 12, outcome: 'answered', bytesSent: 0 },
    });
  });
});
