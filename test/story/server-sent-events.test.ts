import { constants } from 'node:http2';
import { createGzip } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { Curl, VERSIONS } from '../support/curl.ts';
import { EventStreams } from '../support/event-streams.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { ask, connectHttp2, H2C } from '../support/http2-client.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { inTime } from '../support/test-clock.ts';
import { startIssuer, validFor } from '../support/test-issuer.ts';
import { header, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

describe.each(VERSIONS)('a stream of events over %s', (_, version) => {
  test('flows event by event, each before the next one exists', async () => {
    const { url, streams } = await startStreaming();
    const curl = new Curl(version, url);
    const stream = await streams.next();
    for (let i = 1; i <= 20; i++) {
      await stream.send(`data: ${i}\n\n`);
      await curl.hasWritten(`data: ${i}\n\n`);
    }
    await stream.end();
    expect(await curl.ended()).toBe(0);
  });

  test('keeps the fields that say how it is to be handled', async () => {
    const { url, streams } = await startStreaming();
    const curl = new Curl(version, '-D', '-', '-H', 'Accept-Encoding: gzip', url);
    const stream = await streams.next();
    expect(header(stream.request, 'accept-encoding')).toBe('gzip');
    await stream.send('data: 1\n\n');
    await curl.hasWritten('data: 1\n\n');
    for (const field of [
      'content-type: text/event-stream',
      'cache-control: no-store',
      'x-accel-buffering: no',
    ])
      expect(curl.output.toLowerCase()).toContain(`${field}\r\n`);
  });

  test('may be compressed by its upstream, which the gateway does not touch', async () => {
    const { url, streams } = await startStreaming(['Content-Encoding: gzip']);
    const curl = new Curl(version, '--compressed', url);
    const stream = await streams.next();
    const zip = createGzip();
    zip.on('data', (bytes: Buffer) => void stream.send(bytes));
    for (let i = 1; i <= 5; i++) {
      zip.write(`data: ${i}\n\n`);
      zip.flush();
      await curl.hasWritten(`data: ${i}\n\n`);
    }
  });

  test('ends with the token of its caller where the route says so', async () => {
    const time = new FrozenClock(Date.now());
    const issuer = await startIssuer();
    const streams = new EventStreams();
    const { gateway } = await startGatewayOf(issuer, {
      clock: time,
      routes: [{ path: '/events', close_at_expiry: true }],
      tokens: { leeway: '0s' },
      upstream: exchange => streams.serve(exchange),
      config: { listen: H2C },
    });
    const url = `http://127.0.0.1:${gateway.port}/events`;
    const curl = new Curl(version, '-H', issuer.bearer(validFor(60, time)), url);
    const stream = await streams.next();
    await stream.send('data: 1\n\n');
    await curl.hasWritten('data: 1\n\n');
    time.advance(58_000);
    await stream.send('data: 2\n\n');
    await curl.hasWritten('data: 2\n\n');
    time.advance(3_000);
    await stream.gone;
    // Cut off, as opposed to ended well: the client knows that it missed something.
    expect(await curl.ended()).not.toBe(0);
  });

  test('is cut off when a drain takes too long', async () => {
    const { gateway, url, streams } = await startStreaming([], { shutdown: { delay: '0s', drain: '300ms' } });
    const curl = new Curl(version, url);
    const stream = await streams.next();
    await stream.send('data: 1\n\n');
    await curl.hasWritten('data: 1\n\n');
    expect(await inTime(gateway.time, gateway.app.drain())).toBe(false);
    await stream.gone;
    expect(await curl.ended()).not.toBe(0);
  });
});

test('a stream over HTTP/2 whose token expires ends alone: others of its connection go on', async () => {
  const [time, issuer, streams] = [new FrozenClock(Date.now()), await startIssuer(), new EventStreams()];
  const { gateway } = await startGatewayOf(issuer, {
    clock: time,
    routes: [{ path: '/events', close_at_expiry: true }],
    tokens: { leeway: '0s' },
    upstream: exchange => streams.serve(exchange),
    config: { listen: H2C },
  });
  const session = connectHttp2(gateway);
  const open = async (seconds: number) => {
    const authorization = issuer.bearer(validFor(seconds, time)).replace(/^Authorization: /i, '');
    const response = ask(session, { ':path': '/events', authorization });
    return { response, stream: await streams.next() };
  };
  const [brief, lasting] = [await open(20), await open(600)];
  time.advance(21_000);
  await brief.stream.gone;
  expect(await brief.response).toMatchObject({ status: 200, rstCode: constants.NGHTTP2_INTERNAL_ERROR });
  await lasting.stream.send('data: 1\n\n');
  await lasting.stream.end();
  expect(await lasting.response).toMatchObject({ status: 200, rstCode: constants.NGHTTP2_NO_ERROR });
  expect(session.closed).toBe(false);
});

interface Streaming {
  readonly gateway: LocalGateway;
  readonly url: string;
  readonly streams: EventStreams;
}

/** A gateway in front of streams of events, with these fields in the head of each. */
async function startStreaming(lines: readonly string[] = [], config = {}): Promise<Streaming> {
  const streams = new EventStreams(lines);
  const upstream = await startUpstream(exchange => streams.serve(exchange));
  const gateway = await startGateway({ upstreamPort: upstream.port, config: { listen: H2C, ...config } });
  return { gateway, url: `http://127.0.0.1:${gateway.port}/events`, streams };
}
