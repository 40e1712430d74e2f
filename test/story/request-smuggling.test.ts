import { describe, expect, test } from 'vitest';
import { expectError, expectRejected } from '../support/error-object.ts';
import { startGateway } from '../support/gateway.ts';
import { shared } from '../support/lifetime.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { header, NoResponse, type Script, startUpstream } from '../support/wire/index.ts';

/** A body that is a request, for a parser that loses count. */
const INNER = 'GET /smuggled HTTP/1.1\r\nHost: gateway.test\r\n\r\n';
const METHODS = ['GET', 'HEAD', 'POST', 'OPTIONS', 'QUERY'];

const started = shared(async () => {
  const upstream = await startUpstream();
  return { upstream, gateway: await startGateway({ upstreamPort: upstream.port }) };
});

/** The gateway of most tests here, in front of an upstream that has seen nothing yet. */
async function front(script?: Script) {
  const { upstream, gateway } = await started();
  await upstream.renew(script);
  return { upstream, gateway };
}

describe('a body that looks like a request', () => {
  test.each(METHODS)('stays the body of a chunked %s, and the connection goes on', async method => {
    const { upstream, gateway } = await front();
    const client = await gateway.connect();
    expect((await client.ask(inChunks(`${method} /outer`, [INNER, INNER]), { to: method })).status).toBe(200);
    expect(upstream.onlyRequest).toMatchObject({
      method,
      target: '/outer',
      framing: 'chunked',
      complete: true,
    });
    expect(upstream.onlyRequest.body.toString()).toBe(INNER + INNER);
    expect((await client.ask(head('GET /next'))).status).toBe(200);
    expect(upstream.requests.map(request => request.target)).toEqual(['/outer', '/next']);
  });

  test.each(METHODS)('stays the body of a %s with a length, and the connection goes on', async method => {
    const { upstream, gateway } = await front();
    const client = await gateway.connect();
    expect((await client.ask(withBody(`${method} /outer`, INNER), { to: method })).status).toBe(200);
    expect(upstream.onlyRequest).toMatchObject({ method, framing: INNER.length, complete: true });
    expect(upstream.onlyRequest.body.toString()).toBe(INNER);
    expect((await client.ask(head('GET /next'))).status).toBe(200);
    expect(upstream.requests.map(request => request.target)).toEqual(['/outer', '/next']);
  });

  test('stays a body when it arrives byte by byte', async () => {
    const { upstream, gateway } = await front();
    const client = await gateway.connect();
    void client.sendSlowly(inChunks('DELETE /outer', [INNER]), 0);
    expect((await client.answer()).status).toBe(200);
    expect(upstream.onlyRequest.body.toString()).toBe(INNER);
  });

  test('is refused with the request when the response to it would be ignored', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port, route: { path: '/known' } });
    const client = await gateway.connect();
    await client.send(withBody('POST /unknown', INNER) + head('GET /known'));
    expectError(await client.answer(), 404, 5);
    // The body of a refused request is skipped as a body, or the connection ends: it never becomes a request.
    const second = await client.answer().catch(error => error);
    if (!(second instanceof NoResponse)) expect(second.status).toBe(200);
    expect(upstream.requests.map(request => request.target)).not.toContain('/smuggled');
  });
});

describe('a header that the gateway could lose', () => {
  const JUNK = Array.from({ length: 2_100 }, (_, i) => `X${i}: y`);
  test.each([
    ['Content-Length', `${head('POST /a', ...JUNK, `Content-Length: ${INNER.length}`)}${INNER}`],
    ['Transfer-Encoding', inChunks('POST /a', [INNER], ...JUNK)],
    ['Authorization', head('GET /a', ...JUNK, 'Authorization: Bearer token')],
  ])('behind 2,100 others, %s, has the whole request refused', async (_, bytes) => {
    const { upstream, gateway } = await front();
    const client = await gateway.connect();
    await client.send(bytes);
    await expectRejected(client, 431);
    expect(upstream.connections).toEqual([]);
  });
});

describe('framing that breaks after part of the body went upstream', () => {
  test('never becomes the end of a request: the upstream connection is destroyed and the next one is new', async () => {
    const { upstream, gateway } = await front();
    const client = await gateway.connect();
    await client.send(`${head('POST /broken', 'Transfer-Encoding: chunked')}5\r\nhello\r\n`);
    await waitFor('the first chunk is upstream', () => upstream.requests[0]?.bodyBytes === 5);
    await client.send('zz\r\nmore\r\n0\r\n\r\n');
    await expectRejected(client);
    await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
    expect(upstream.onlyRequest).toMatchObject({ complete: false, bodyBytes: 5 });
    expect((await gateway.ask(head('GET /next'))).status).toBe(200);
    expect(upstream.requests[1]?.connection.id).not.toBe(upstream.requests[0]?.connection.id);
  });

  test.each([
    ['length', head('POST /cut', 'Content-Length: 10')],
    ['chunks', `${head('POST /cut', 'Transfer-Encoding: chunked')}a\r\n`],
  ])('nor does a body by %s whose client closes half-way', async (_, start) => {
    const { upstream, gateway } = await front();
    const client = await gateway.connect();
    await client.send(`${start}hello`);
    await waitFor('the first bytes are upstream', () => upstream.requests[0]?.bodyBytes === 5);
    client.endSending();
    await client.ended();
    await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
    expect(upstream.onlyRequest).toMatchObject({ complete: false, bodyBytes: 5 });
  });
});

describe('an upstream that answers before it has read the body', () => {
  test.each(['length', 'chunks'])('leaves the rest of a body by %s a body', async framing => {
    const { upstream, gateway } = await front(exchange => exchange.answer(413, [], 'too much'));
    const client = await gateway.connect();
    const size = 1_000_000;
    const [start, first, rest] =
      framing === 'length'
        ? [head('POST /a', `Content-Length: ${1 + size + INNER.length}`), 'x', 'x'.repeat(size) + INNER]
        : [head('POST /a', 'Transfer-Encoding: chunked'), '1\r\nx\r\n', `${INNER}0\r\n\r\n`];
    // The first bytes come at once: the gateway may wait for them before it sends the head on.
    await client.send(start + first);
    const response = await client.answer();
    expect(response).toMatchObject({ status: 413, complete: true });
    expect(header(response, 'connection')).toBe('close');
    // What follows is read by nobody as a request, and sending it must not cost the client its response.
    await client.send(rest);
    await client.send(INNER);
    await client.ended();
    expect(upstream.requests.map(request => request.target)).toEqual(['/a']);
  });

  test('does not cost a client its response that sends all of a megabyte before it reads', async () => {
    const { upstream, gateway } = await front(exchange => exchange.answer(413, [], 'too much'));
    const client = await gateway.connect();
    client.pause();
    const piece = Buffer.alloc(64 * 1024, 'x');
    await client.send(head('POST /a', `Content-Length: ${16 * piece.length}`));
    await client.sendSlowly(Array(16).fill(piece), 5);
    client.resume();
    expect(await client.answer()).toMatchObject({ status: 413, complete: true });
    expect(await client.ended()).toBe('close');
    expect(upstream.requests).toHaveLength(1);
  });

  test('is not asked again on the connection whose request body never ended', async () => {
    const { upstream, gateway } = await front(exchange => exchange.answer(413, [], 'too much'));
    const client = await gateway.connect();
    expect((await client.ask(`${head('POST /a', 'Content-Length: 100')}hello`)).status).toBe(413);
    client.destroy();
    expect((await gateway.ask(head('GET /next'))).status).toBe(413);
    expect(upstream.requests.map(request => request.target)).toEqual(['/a', '/next']);
    expect(upstream.requests[0]?.connection.id).not.toBe(upstream.requests[1]?.connection.id);
  });

  test('is not asked for more when the rest of the body turns out to be broken', async () => {
    const { upstream, gateway } = await front(exchange => exchange.answer(413, [], 'too much'));
    const client = await gateway.connect();
    expect((await client.ask(`${head('POST /a', 'Transfer-Encoding: chunked')}1\r\nx\r\n`)).status).toBe(413);
    await client.send(`zz\r\n${INNER}`);
    await client.ended();
    expect((await gateway.ask(head('GET /next'))).status).toBe(413);
    expect(upstream.requests.map(request => request.target)).toEqual(['/a', '/next']);
  });
});
