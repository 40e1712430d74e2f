import { describe, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { Random } from '../support/random.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { names, responseOk, type Script, startUpstream, values } from '../support/wire/index.ts';

async function front(script: Script = responseOk) {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({ upstreamPort: upstream.port });
  return { upstream, client: await gateway.connect() };
}

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString('latin1');

describe('a body goes upstream byte for byte', () => {
  test.each([
    ['by length', withBody('POST /a', ALL_BYTES)],
    ['in one chunk', inChunks('POST /a', [ALL_BYTES])],
    ['in chunks of every byte', inChunks('POST /a', [...ALL_BYTES])],
    [
      'in chunks with extensions',
      `${head('POST /a', 'Transfer-Encoding: chunked')}100;a=b;c="d"\r\n${ALL_BYTES}\r\n0;e\r\n\r\n`,
    ],
    [
      'in chunks whose sizes have zeros in front',
      `${head('POST /a', 'Transfer-Encoding: chunked')}00100\r\n${ALL_BYTES}\r\n000\r\n\r\n`,
    ],
    ['in chunks, the coding in capitals', inChunks('POST /a', [ALL_BYTES]).replace('chunked', 'CHUNKED')],
  ])('%s, in one piece and in many', async (_, bytes) => {
    const { upstream, client } = await front();
    expect((await client.ask(bytes)).status).toBe(200);
    void client.sendSlowly([bytes.slice(0, 100), ...bytes.slice(100, 110), bytes.slice(110)], 1);
    expect((await client.answer()).status).toBe(200);
    expect(upstream.requests.map(request => request.body.toString('latin1'))).toEqual([ALL_BYTES, ALL_BYTES]);
    expect(upstream.requests.map(request => request.framing)).toEqual(
      Array(2).fill(bytes.includes('Content-Length') ? 256 : 'chunked'),
    );
  });

  test('a length of 0 that the client states arrives, and none that it does not state', async () => {
    const { upstream, client } = await front();
    for (const bytes of [
      head('GET /a', 'Content-Length: 0'),
      head('DELETE /a', 'content-length: 0'),
      head('GET /a'),
    ])
      expect((await client.ask(bytes)).status).toBe(200);
    expect(upstream.requests.map(({ fields }) => values(fields, 'content-length'))).toEqual([
      ['0'],
      ['0'],
      [],
    ]);
  });

  test('a megabyte of noise arrives as it was sent', async () => {
    const noise = new Random(2).bytes(1024 * 1024);
    const { upstream, client } = await front();
    void client.send(head('PUT /a', `Content-Length: ${noise.length}`));
    void client.send(noise);
    expect((await client.answer()).status).toBe(200);
    expect(upstream.onlyRequest.body.equals(noise)).toBe(true);
  });

  test('it is streamed: the upstream has its first bytes while the client still holds the last', async () => {
    const { upstream, client } = await front();
    await client.send(`${head('POST /a', 'Content-Length: 10')}first`);
    await waitFor('the first bytes are upstream', () => upstream.requests[0]?.bodyBytes === 5);
    await client.send('after');
    expect((await client.answer()).status).toBe(200);
    expect(upstream.onlyRequest.body.toString()).toBe('firstafter');
  });

  test('an upstream may answer while it reads, and the client sees both flow', async () => {
    const { upstream, client } = await front(async exchange => {
      await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n');
      await exchange.received();
      await exchange.send('0\r\n\r\n');
    });
    await client.send(`${head('POST /a', 'Content-Length: 10')}first`);
    await waitFor('the response flows', () => client.received.includes('hello'));
    await client.send('after');
    expect(await client.answer()).toMatchObject({ status: 200, complete: true });
    expect(upstream.onlyRequest).toMatchObject({ complete: true, bodyBytes: 10 });
  });
});

describe('whether there is a body, the two framing headers alone decide', () => {
  test.each(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST', 'PUT'])('%s without them has none', async method => {
    const { upstream, client } = await front();
    expect((await client.ask(head(`${method} /a`))).status).toBe(200);
    expect(upstream.onlyRequest.framing).toBe(0);
    expect((await client.ask(head(`${method} /b`))).status).toBe(200);
  });

  test.each([
    ['a length of zero', withBody('POST /a', '')],
    ['no chunk but the last', inChunks('POST /a', [])],
    ['no chunk but the last, on a GET', inChunks('GET /a', [])],
  ])('a body may be empty: %s', async (_, bytes) => {
    const { upstream, client } = await front();
    expect((await client.ask(bytes)).status).toBe(200);
    expect(upstream.onlyRequest).toMatchObject({ complete: true, bodyBytes: 0 });
    expect((await client.ask(head('GET /next'))).status).toBe(200);
    expect(upstream.requests).toHaveLength(2);
  });

  test.each([
    'Content_Length: 5',
    'Transfer_Encoding: chunked',
    'content_length: 5',
    'TRANSFER_ENCODING: chunked',
  ])('a header with an underscore does not, nor does an upstream see it: %s', async line => {
    const { upstream, client } = await front();
    expect((await client.ask(withBody('POST /a', 'hello', line))).status).toBe(200);
    expect(upstream.onlyRequest.body.toString()).toBe('hello');
    expect(names(upstream.onlyRequest.fields)).not.toContain(line.split(':')[0]);
  });
});

test('trailers of a request are dropped, and so is their announcement', async () => {
  const { upstream, client } = await front();
  const bytes = inChunks('POST /a', ['hello'], 'Trailer: X-Sum').replace(
    /0\r\n\r\n$/,
    '0\r\nX-Sum: a\r\n\r\n',
  );
  expect((await client.ask(bytes)).status).toBe(200);
  expect(upstream.onlyRequest).toMatchObject({ complete: true, trailers: [] });
  expect(values(upstream.onlyRequest.fields, 'trailer')).toEqual([]);
});

test('the head goes upstream before the first byte of the body is there', async () => {
  const { upstream, client } = await front();
  await client.send(head('POST /a', 'Content-Length: 5'));
  await waitFor('the head is upstream', () => upstream.requests.length === 1);
});
