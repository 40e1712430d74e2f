import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../wait.ts';
import { connectRaw, header, startUpstream, values } from './index.ts';

/** The raw client talks to a server of Node's here, the raw upstream to a client of Node's: each has a known partner. */
async function nodeServer(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** A server that sends these bytes on every connection and then ends it in the given way. */
async function bytesServer(bytes: string, then: 'keep' | 'close' | 'reset'): Promise<number> {
  const server = createNetServer(socket => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(Buffer.from(bytes, 'latin1'), () => {
        if (then === 'close') socket.end();
        if (then === 'reset') socket.resetAndDestroy();
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

test('the raw client reads interim responses, chunks, trailers and the next response on the same connection', async () => {
  const port = await nodeServer(
    createServer((req, res) => {
      if (req.url === '/next') return void res.end('next');
      res.writeEarlyHints({ link: '</a>' });
      res.writeHead(200, { Trailer: 'A' });
      res.write('hel');
      res.addTrailers({ A: 'b' });
      res.end('lo');
    }),
  );
  const client = await connectRaw(port);
  const first = await client.ask(GET);
  expect(first).toMatchObject({
    status: 200,
    framing: 'chunked',
    trailers: ['A', 'b'],
    complete: true,
    end: 'framing',
  });
  expect(first.interim).toEqual([{ status: 103, fields: ['Link', '</a>'] }]);
  expect(first.body.toString()).toBe('hello');
  const second = await client.ask('GET /next HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(second).toMatchObject({ framing: 4, complete: true });
  expect(header(second, 'content-length')).toBe('4');
  expect(client.end).toBeNull();
});

test('the raw client knows that a response to HEAD and a 304 have no body', async () => {
  const port = await nodeServer(
    createServer((req, res) =>
      res.writeHead(req.method === 'HEAD' ? 200 : 304, { 'Content-Length': 5 }).end(),
    ),
  );
  const client = await connectRaw(port);
  expect(await client.ask(GET.replace('GET', 'HEAD'))).toMatchObject({
    status: 200,
    bodyBytes: 0,
    complete: true,
  });
  expect(await client.ask(GET)).toMatchObject({ status: 304, bodyBytes: 0, complete: true });
});

test.each([
  ['by a close', 'close', 'Content-Length: 5\r\n\r\nhel', { complete: false, end: 'close' }],
  ['by a reset', 'reset', 'Content-Length: 5\r\n\r\nhel', { complete: false, end: 'reset' }],
  [
    'in its chunks',
    'close',
    'Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n',
    { complete: false, end: 'close' },
  ],
  ['by a close, which is its framing', 'close', '\r\nhel', { complete: true, end: 'close' }],
  ['by a reset, which is no end', 'reset', '\r\nhel', { complete: false, end: 'reset' }],
] as const)('the raw client sees a response ended %s', async (_, then, rest, expected) => {
  const port = await bytesServer(`HTTP/1.1 200 OK\r\n${rest}`, then);
  const client = await connectRaw(port);
  expect(await client.ask(GET)).toMatchObject({ status: 200, ...expected });
});

test.each([
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a length on 204', 'HTTP/1.1 204 OK\r\nContent-Length: 0\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na'],
  ['bare LF', 'HTTP/1.1 200 OK\nContent-Length: 1\n\na'],
])('the raw client refuses a response with %s', async (_, bytes) => {
  const client = await connectRaw(await bytesServer(bytes, 'keep'));
  await expect(client.ask(GET)).rejects.toMatchObject({ name: 'Violation' });
});

test('the raw client says why there was no response', async () => {
  const closed = await connectRaw(await bytesServer('', 'close'));
  await expect(closed.ask(GET)).rejects.toMatchObject({ name: 'NoResponse', why: 'close' });
});

test('the raw upstream records a request of every framing and answers by its script', async () => {
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    await exchange.answer(200, ['X-Length', String(exchange.request.bodyBytes)], 'ok');
  });
  for (const [name, fields] of [
    ['length', { 'Content-Length': '5' }],
    ['chunked', { 'Transfer-Encoding': 'chunked' }],
  ] as const) {
    const req = request({
      port: upstream.port,
      method: 'POST',
      path: `/${name}`,
      headers: { ...fields, 'X-A': 'b' },
    });
    req.end('hello');
    const [res] = await once(req, 'response');
    expect(res.headers['x-length']).toBe('5');
    res.resume();
  }
  expect(upstream.requests).toMatchObject([
    { method: 'POST', target: '/length', framing: 5, complete: true },
    { method: 'POST', target: '/chunked', framing: 'chunked', complete: true },
  ]);
  expect(upstream.requests.map(r => r.body.toString())).toEqual(['hello', 'hello']);
  expect(values(upstream.requests[0]?.fields ?? [], 'x-a')).toEqual(['b']);
});

test('the raw upstream records what a strict reader refuses and drops the connection', async () => {
  const upstream = await startUpstream();
  const client = await connectRaw(upstream.port);
  expect((await client.ask(GET)).status).toBe(200);
  await client.send('junk\r\n\r\n');
  await client.ended();
  expect(upstream.takeViolations()).toEqual(['connection 0, request 1: request line "junk"']);
});

test('the raw upstream treats a second request before the first response as a violation', async () => {
  const upstream = await startUpstream(async exchange => await exchange.gone);
  const client = await connectRaw(upstream.port);
  await client.send(GET + GET);
  await waitFor('a violation', () => upstream.openConnections.length === 0);
  expect(upstream.takeViolations()).toHaveLength(1);
});

test('a script that waits for a closed connection ends quietly', async () => {
  let waited = false;
  const upstream = await startUpstream(async exchange => {
    waited = true;
    await exchange.received();
    throw new Error('never here');
  });
  const client = await connectRaw(upstream.port);
  await client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel');
  await waitFor('the script', () => waited);
  client.destroy();
  await waitFor('the end', () => upstream.openConnections.length === 0);
  expect(upstream.onlyRequest).toMatchObject({ complete: false, bodyBytes: 3 });
});

test.each([
  ['an answer', 'HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n', 'keep', 'HTTP/1.1 417 No'],
  ['an end', '', 'close', 'nothing, and then a close'],
  ['a reset', '', 'reset', 'nothing, and then a reset'],
] as const)(
  'a client that waits for 100 Continue is told of %s in its place',
  async (_, bytes, then, instead) => {
    const client = await connectRaw(await bytesServer(bytes, then));
    await client.send(GET);
    await expect(client.continued()).rejects.toThrow(`no 100 Continue came, but ${instead}`);
  },
);
