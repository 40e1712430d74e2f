import { once } from 'node:events';
import { connect, constants } from 'node:http2';
import { type AddressInfo, createConnection, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { TimerClock } from '../../src/core/index.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { ask, connectHttp2, H2C, read } from '../support/http2-client.ts';
import { connectFrames, FLAG, frame, headers, request, TYPE, uint32 } from '../support/http2-frames.ts';
import { Random } from '../support/random.ts';
import { head } from '../support/requests.ts';
import { clockOfTests, inTime } from '../support/test-clock.ts';
import { startTlsGateway } from '../support/tls-gateway.ts';
import { waitFor } from '../support/wait.ts';
import {
  type CaptureUpstream,
  responseOk,
  type Script,
  startUpstream,
  values,
} from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const MIB = 1024 * 1024;

async function start(
  script: Script = responseOk,
  route: Record<string, unknown> = {},
  clock: TimerClock = clockOfTests(),
): Promise<{ gateway: LocalGateway; upstream: CaptureUpstream }> {
  const upstream = await startUpstream(script);
  const config = { listen: H2C, log: { level: 'info', access: true } };
  return { upstream, gateway: await startGateway({ upstreamPort: upstream.port, route, config, clock }) };
}

/** Lines of the access log. */
function lines(gateway: LocalGateway): Record<string, unknown>[] {
  return gateway.logLines.map(line => JSON.parse(line)).filter(line => line.type === 'access');
}

async function onlyLine(gateway: LocalGateway): Promise<Record<string, unknown>> {
  await waitFor('the request is logged', () => lines(gateway).length > 0);
  expect(lines(gateway)).toHaveLength(1);
  return lines(gateway)[0] ?? {};
}

test('one listener with h2c serves HTTP/2 and HTTP/1.1, whatever pieces the first bytes come in', async () => {
  const { gateway } = await start();
  expect(await ask(connectHttp2(gateway), { ':path': '/a' })).toMatchObject({ status: 200, rstCode: 0 });
  expect(await gateway.ask(head('GET /a'))).toMatchObject({ status: 200 });
  const client = await gateway.connect();
  await client.sendSlowly(['P', 'R', 'OPFIND /a HTTP/1.1\r\nHost: a.test\r\n\r\n'], 5);
  expect(await client.answer()).toMatchObject({ status: 200 });
});

test('a request reaches the upstream as one of HTTP/1.1 would, and says by Via what it came by', async () => {
  const { gateway, upstream } = await start();
  await ask(connectHttp2(gateway), {
    ':path': '/a?b=c',
    ':authority': 'api.test',
    'x-d': 'e',
    cookie: ['f=1', 'g=2'],
  });
  const { method, target, fields } = upstream.onlyRequest;
  expect({ method, target }).toEqual({ method: 'GET', target: '/a?b=c' });
  expect(values(fields, 'host')).toEqual(['api.test']);
  expect(values(fields, 'x-d')).toEqual(['e']);
  expect(values(fields, 'cookie')).toEqual(['f=1; g=2']);
  expect(values(fields, 'via')).toEqual(['2 weir']);
  expect(fields.filter(field => field.startsWith(':'))).toEqual([]);
});

test('megabytes stream both ways at once, byte for byte', async () => {
  const { gateway } = await start(async exchange => {
    let sent = exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    const send = (bytes: string | Buffer) => {
      sent = sent.then(() => exchange.send(bytes));
    };
    exchange.request.onData = piece => {
      send(`${piece.length.toString(16)}\r\n`);
      send(piece);
      send('\r\n');
    };
    await exchange.received();
    await sent;
    await exchange.send('0\r\nX-Sum: right\r\n\r\n');
  });
  const session = connectHttp2(gateway);
  const bodies = [1, 2, 3].map(seed => new Random(seed).bytes(2 * MIB));
  const responses = await Promise.all(
    bodies.map(body => ask(session, { ':path': '/', ':method': 'POST' }, body)),
  );
  expect(responses.map(({ rstCode, trailers }) => [rstCode, trailers['x-sum']])).toEqual(
    bodies.map(() => [0, 'right']),
  );
  for (const [i, { body }] of responses.entries())
    expect(body.equals(bodies[i] ?? Buffer.alloc(0))).toBe(true);
});

test('an interim response passes, and a response without a body ends with its head', async () => {
  const { gateway } = await start(async exchange => {
    if (exchange.request.target !== '/early')
      return await exchange.answer(exchange.request.method === 'HEAD' ? 200 : 204);
    await exchange.send('HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n');
    await exchange.answer(304, ['ETag', '"a"']);
  });
  const session = connectHttp2(gateway);
  const early = await ask(session, { ':path': '/early' });
  expect(early).toMatchObject({ status: 304, rstCode: 0, fields: { etag: '"a"' } });
  expect(early.interim).toMatchObject([{ ':status': 103, link: '</a.css>' }]);
  expect(await ask(session, { ':path': '/' })).toMatchObject({ status: 204, rstCode: 0 });
  expect(await ask(session, { ':path': '/', ':method': 'HEAD' })).toMatchObject({ status: 200, rstCode: 0 });
});

test('the access log and the metrics know the protocol, the bytes and the outcome', async () => {
  const { gateway } = await start(async exchange => {
    await exchange.received();
    await exchange.answer(201, [], '12345');
  });
  await ask(connectHttp2(gateway), { ':path': '/a', ':method': 'POST' }, 'abc');
  expect(await onlyLine(gateway)).toMatchObject({
    ...{ protocol: 'h2', status: 201, outcome: 'forwarded', bytesReceived: 3, bytesSent: 5 },
  });
  const counted = await gateway.counted('weir_requests_total');
  expect([...counted.keys()]).toEqual([expect.stringContaining('protocol="h2"')]);
});

test('a stream that the client resets ends its exchange upstream at once, and is counted as abandoned', async () => {
  const { gateway, upstream } = await start(exchange => exchange.gone);
  const session = connectHttp2(gateway);
  const stream = session.request({ ':path': '/a' });
  const response = read(stream);
  await waitFor('the request arrives', () => upstream.requests.length === 1);
  stream.close(constants.NGHTTP2_CANCEL);
  await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
  await response;
  expect(await onlyLine(gateway)).toMatchObject({ outcome: 'abandoned', protocol: 'h2' });
  expect(await ask(session, { ':path': '/nothing', ':method': 'TRACE' })).toMatchObject({ status: 405 });
});

test.each([constants.NGHTTP2_NO_ERROR, constants.NGHTTP2_CANCEL])(
  'an upload that the client resets with code %i never reaches the upstream as a whole one',
  async code => {
    const { gateway, upstream } = await start();
    const client = await (await connectFrames(gateway.port)).begin();
    await client.send(
      headers(1, request('/a', 'POST'), FLAG.endHeaders),
      frame(TYPE.data, 0, 1, 'the first half'),
    );
    await waitFor('the first half arrives', () => upstream.requests[0]?.bodyBytes === 14);
    await client.send(frame(TYPE.rstStream, 0, 1, uint32(code)));
    await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
    expect(upstream.onlyRequest.complete).toBe(false);
    expect(await onlyLine(gateway)).toMatchObject({ outcome: 'abandoned' });
  },
);

test.each([
  ['by length', 'Content-Length: 10\r\n\r\n12345'],
  ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n'],
])('a response of the upstream that breaks off is reset with INTERNAL_ERROR: %s', async (_, rest) => {
  const { gateway } = await start(async exchange => {
    await exchange.send(`HTTP/1.1 200 OK\r\n${rest}`);
    exchange.connection.destroy();
  });
  const response = await ask(connectHttp2(gateway), { ':path': '/a' });
  expect(response).toMatchObject({ status: 200, rstCode: constants.NGHTTP2_INTERNAL_ERROR });
  expect(await onlyLine(gateway)).toMatchObject({ outcome: 'truncated' });
});

test('a request that is refused before its end gets the whole refusal, and nothing more is read of it', async () => {
  const { gateway } = await start(responseOk, { max_body: '1KiB' });
  const session = connectHttp2(gateway);
  const response = await ask(session, { ':path': '/a', ':method': 'POST' }, Buffer.alloc(MIB));
  expect(response).toMatchObject({ status: 413 });
  expect(JSON.parse(response.body.toString())).toMatchObject({ code: 3 });
  expect(await ask(session, { ':path': '/a' })).toMatchObject({ status: 200 });
});

test.each([
  [
    'resets what is left of it with NO_ERROR',
    frame(TYPE.rstStream, 0, 1, uint32(constants.NGHTTP2_NO_ERROR)),
  ],
  ['resets what is left of it with CANCEL', frame(TYPE.rstStream, 0, 1, uint32(constants.NGHTTP2_CANCEL))],
  ['closes the connection', null],
])(
  'a request that is refused before its end was answered, even if its client then %s',
  async (_, farewell) => {
    const { gateway } = await start(responseOk, { max_body: '1KiB' });
    const client = await (await connectFrames(gateway.port)).begin();
    const fields: [string, string][] = [...request('/a', 'POST'), ['content-length', '2048']];
    await client.send(headers(1, fields, FLAG.endHeaders));
    expect(await client.status(1)).toBe(413);
    await client.next(({ type, flags }) => type === TYPE.data && (flags & FLAG.endStream) !== 0);
    if (farewell === null) client.destroy();
    else await client.send(farewell);
    expect(await onlyLine(gateway)).toMatchObject({ status: 413, outcome: 'answered' });
  },
);

test('a drain sends GOAWAY on every connection, closes an idle one, and lets an open stream end first', async () => {
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const script: Script = async exchange => {
    await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst');
    begun.resolve();
    await end.promise;
    await exchange.send(' last');
  };
  // No sweep finds anything too late.
  const { gateway } = await start(script, {}, new FrozenClock());
  // It does nothing about a GOAWAY by itself, nor about a PING.
  const idle = await (await connectFrames(gateway.port)).begin();
  const session = connectHttp2(gateway);
  const goaway = new Promise(resolve => session.on('goaway', resolve));
  const response = ask(session, { ':path': '/a' });
  await begun.promise;
  const drained = gateway.app.drain();
  expect(await idle.goaway()).toBe(constants.NGHTTP2_NO_ERROR);
  await idle.answerPing();
  await waitFor('the idle connection closes', () => idle.closed);
  expect(idle.lastStreams).toEqual([0x7fffffff, 0]);
  expect(await goaway).toBe(constants.NGHTTP2_NO_ERROR);
  end.resolve();
  expect(await response).toMatchObject({ status: 200, rstCode: 0, body: Buffer.from('first last') });
  expect(await drained).toBe(true);
});

test('a client that does not answer the PING of a drain is told the last stream all the same', async () => {
  const { gateway } = await start();
  const client = await (await connectFrames(gateway.port)).begin();
  const drained = inTime(gateway.time, gateway.app.drain());
  await waitFor('the connection closes', () => client.closed);
  expect(client.lastStreams).toEqual([0x7fffffff, 0]);
  expect(await drained).toBe(true);
});

/** RFC 5246, 6.2.1: the content type of alerts, such as close_notify. */
const ALERT = 0x15;

/** Passes one connection on to a port of this machine, and returns what came back once that has ended. */
async function startRelay(port: number) {
  const seen: Buffer[] = [];
  const ended = Promise.withResolvers<Buffer>();
  const server = createServer(client => {
    const gateway = createConnection(port, '127.0.0.1');
    client.on('data', (bytes: Buffer) => gateway.write(bytes)).on('error', () => {});
    gateway.on('data', (bytes: Buffer) => {
      seen.push(bytes);
      client.write(bytes);
    });
    gateway.on('end', () => {
      ended.resolve(Buffer.concat(seen));
      client.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, ended: ended.promise };
}

/** The content types of the TLS records in these bytes. */
function recordTypes(bytes: Buffer): number[] {
  const types: number[] = [];
  for (let at = 0; at + 5 <= bytes.length; at += 5 + bytes.readUInt16BE(at + 3)) types.push(bytes[at] ?? 0);
  return types;
}

test('over TLS a drained connection ends with a close_notify behind its last response', async () => {
  const { gateway } = await startTlsGateway();
  const relay = await startRelay(gateway.port);
  // TLS 1.3 hides what is an alert.
  const tls = { maxVersion: 'TLSv1.2', rejectUnauthorized: false } as const;
  const session = connect(`https://localhost:${relay.port}`, tls);
  session.on('error', () => {});
  onTestFinished(() => session.destroy());
  expect(await ask(session, { ':path': '/a' })).toMatchObject({ status: 200, rstCode: 0 });
  expect(await gateway.app.drain()).toBe(true);
  const seen = await relay.ended;
  expect(recordTypes(seen).at(-1)).toBe(ALERT);
});

test('a response that the client resets before its end counts as abandoned, though the upstream had sent it whole', async () => {
  const { gateway } = await start(exchange => exchange.answer(200, [], Buffer.alloc(100_000)));
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(headers(1, request('/a')));
  expect(await client.status(1)).toBe(200);
  await waitFor('the window is used up', () => {
    const data = client.frames.filter(({ type }) => type === TYPE.data);
    return data.reduce((sum, { payload }) => sum + payload.length, 0) === 65_535;
  });
  await client.send(frame(TYPE.rstStream, 0, 1, uint32(constants.NGHTTP2_CANCEL)));
  expect(await onlyLine(gateway)).toMatchObject({ outcome: 'abandoned', bytesSent: 100_000 });
});

test('fields of an upstream that mean something to HTTP/1.1 alone are left out, and repeated ones pass', async () => {
  const only1 = ['Connection', 'X-Hop', 'X-Hop', '1', 'Keep-Alive', 'timeout=5', 'HTTP2-Settings', 'AAA'];
  const repeated = ['ETag', '"a"', 'ETag', '"b"', 'Content-Type', 'text/a', 'Content-Type', 'text/b'];
  const cookies = ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2'];
  const { gateway } = await start(exchange =>
    exchange.answer(200, [...only1, 'Proxy-Connection', 'x', 'Upgrade', 'h2c', ...repeated, ...cookies]),
  );
  const { status, fields, rstCode } = await ask(connectHttp2(gateway), { ':path': '/' });
  expect({ status, rstCode }).toEqual({ status: 200, rstCode: 0 });
  expect(fields['set-cookie']).toEqual(['a=1', 'b=2']);
  for (const name of ['connection', 'x-hop', 'keep-alive', 'http2-settings', 'proxy-connection', 'upgrade'])
    expect(fields[name], name).toBeUndefined();
});

test('trailers that mean something to HTTP/1.1 alone are left out', async () => {
  const { gateway } = await start(async exchange => {
    await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n');
    await exchange.send('0\r\nHTTP2-Settings: AAA\r\nKeep-Alive: x\r\nX-Sum: 1\r\nX-Sum: 2\r\n\r\n');
  });
  const { trailers, rstCode, body } = await ask(connectHttp2(gateway), { ':path': '/' });
  expect(Object.entries(trailers)).toEqual([['x-sum', '1, 2']]);
  expect({ rstCode, body: body.toString() }).toEqual({ rstCode: 0, body: 'ok' });
});
