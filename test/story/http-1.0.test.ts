import { expect, test } from 'vitest';
import { expectError } from '../support/error-object.ts';
import { startGateway } from '../support/gateway.ts';
import { header, type Script, startUpstream, values } from '../support/wire/index.ts';

const CHUNKS = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n';

async function front(script?: Script) {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({ upstreamPort: upstream.port });
  return { upstream, gateway, client: await gateway.connect() };
}

function request(methodAndTarget: string, ...lines: string[]): string {
  return `${[`${methodAndTarget} HTTP/1.0`, 'Host: gateway.test', ...lines].join('\r\n')}\r\n\r\n`;
}

test('an HTTP/1.0 request goes upstream as HTTP/1.1, and its connection closes after the response', async () => {
  const { upstream, client } = await front();
  const response = await client.ask(request('GET /a'));
  expect(response).toMatchObject({ status: 200, complete: true });
  expect(response.body.toString()).toBe('ok');
  expect(header(response, 'connection')).toBe('close');
  expect(await client.ended()).toBe('close');
  expect(values(upstream.onlyRequest.fields, 'via')).toEqual(['1.0 weir']);
});

test('an HTTP/1.0 client keeps its connection when it asks for that', async () => {
  const { upstream, client } = await front();
  for (let i = 0; i < 3; i++) {
    const response = await client.ask(request('GET /a', 'Connection: keep-alive'));
    expect(response).toMatchObject({ status: 200, end: 'framing' });
    expect(header(response, 'connection')?.toLowerCase()).toBe('keep-alive');
  }
  expect(upstream.requests).toHaveLength(3);
});

test('a response without a length ends with its connection, and says nothing else, even to HEAD', async () => {
  const { client } = await front(exchange => exchange.send('HTTP/1.1 200 OK\r\nX: y\r\n\r\n'));
  const response = await client.ask(request('HEAD /a', 'Connection: keep-alive'), { to: 'HEAD' });
  expect(header(response, 'connection')).toBe('close');
  expect(header(response, 'keep-alive')).toBeUndefined();
  expect(await client.ended()).toBe('close');
});

test('a body by length passes over HTTP/1.0', async () => {
  const { upstream, client } = await front();
  expect((await client.ask(`${request('POST /a', 'Content-Length: 5')}hello`)).status).toBe(200);
  expect(upstream.onlyRequest.body.toString()).toBe('hello');
});

test.each(['', 'Connection: keep-alive', 'TE: chunked'])(
  'a response without a length ends with the connection, never in chunks (%j)',
  async line => {
    const { client } = await front(async exchange => {
      await exchange.send(`${CHUNKS}`);
      await new Promise(resolve => setTimeout(resolve, 20));
      await exchange.send('3\r\nllo\r\n0\r\nX-Sum: a\r\n\r\n');
    });
    const response = await client.ask(request('GET /a', ...(line === '' ? [] : [line])));
    expect(response).toMatchObject({
      status: 200,
      framing: 'close',
      complete: true,
      end: 'close',
      trailers: [],
    });
    expect(response.body.toString()).toBe('hello');
  },
);

test('a response without a length that breaks off is reset, since its end would look like its whole', async () => {
  const { client } = await front(async exchange => {
    await exchange.send(CHUNKS);
    await new Promise(resolve => setTimeout(resolve, 20));
    exchange.connection.end();
  });
  expect(await client.ask(request('GET /a'))).toMatchObject({ status: 200, complete: false, end: 'reset' });
});

test('no interim response goes to HTTP/1.0', async () => {
  const { client } = await front(exchange =>
    exchange.send(
      'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    ),
  );
  expect(await client.ask(request('GET /a'))).toMatchObject({ status: 200, interim: [], complete: true });
});

test('no 100 goes to HTTP/1.0, and its Expect changes nothing', async () => {
  const { upstream, client } = await front();
  const response = await client.ask(
    `${request('POST /a', 'Expect: 100-continue', 'Content-Length: 5')}hello`,
  );
  expect(response).toMatchObject({ status: 200, interim: [] });
  expect(values(upstream.onlyRequest.fields, 'expect')).toEqual([]);
});

test('errors of the gateway are the same over HTTP/1.0', async () => {
  const upstream = await startUpstream();
  const gateway = await startGateway({ upstreamPort: upstream.port, route: { path: '/known' } });
  expectError(await gateway.ask(request('GET /unknown')), 404, 5);
});
