import { writeFile } from 'node:fs/promises';
import { createSecureServer, type IncomingHttpHeaders, sensitiveHeaders } from 'node:http2';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { TestAuthority } from '../support/certificates.ts';
import { frame, startFrameUpstream, TYPE, uint32 } from '../support/frame-upstream.ts';
import { freePort } from '../support/free-port.ts';
import { type ConfigPart, startGateway } from '../support/gateway.ts';
import { type H2Request, startH2Upstream } from '../support/h2-upstream.ts';
import { ask, connectHttp2, H2C } from '../support/http2-client.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

async function front(answer?: (request: H2Request) => unknown, api: ConfigPart = {}) {
  const upstream = await startH2Upstream(answer);
  const gateway = await startGateway({ upstreamPort: upstream.port, api: { protocol: 'h2', ...api } });
  return { upstream, gateway };
}

/** The fields of a section without pseudo-fields, as `name: value`. */
function fieldsOf(section: readonly string[]): string[] {
  const lines: string[] = [];
  for (let i = 0; i + 1 < section.length; i += 2)
    if (!section[i]?.startsWith(':')) lines.push(`${section[i]}: ${section[i + 1]}`);
  return lines;
}

describe('an upstream with protocol: h2', () => {
  test('gets the request as the client sent it', async () => {
    const { upstream, gateway } = await front();
    const fields = ['X-One: 1', 'X-One: 2', 'Referer: http://a.test/', 'Referer: http://b.test/'];
    const response = await gateway.ask(head('GET /a%20b?c=d', ...fields));
    expect(response).toMatchObject({ status: 200 });
    expect(response.body.toString()).toBe('ok');
    const [request] = upstream.requests;
    expect(request?.headers).toMatchObject({
      ...{ ':method': 'GET', ':path': '/a%20b?c=d', ':scheme': 'http', ':authority': 'gateway.test' },
      via: '1.1 weir',
    });
    const sent = fieldsOf(request?.section ?? []);
    expect(sent).toEqual(
      expect.arrayContaining(fields.map(line => line.replace(/^[^:]+/, name => name.toLowerCase()))),
    );
    expect(sent.some(line => line.startsWith('host:'))).toBe(false);
  });

  test.each([
    ['a stated length', withBody('POST /a', 'hello'), '5'],
    ['chunks', inChunks('POST /a', ['hel', 'lo']), undefined],
    ['no body', head('POST /a', 'Content-Length: 0'), '0'],
  ])('gets a body with %s', async (_, request, length) => {
    const { upstream, gateway } = await front(async ({ stream, body }) => {
      const text = await body();
      stream.respond({ ':status': 201 });
      stream.end(`got ${text}`);
    });
    const response = await gateway.ask(request);
    expect(response.status).toBe(201);
    expect(response.body.toString()).toBe(length === '0' ? 'got ' : 'got hello');
    expect(upstream.requests[0]?.headers['content-length']).toBe(length);
  });

  test('answers with trailers and interim responses', async () => {
    const { gateway } = await front(({ stream }) => {
      stream.additionalHeaders({ ':status': 103, link: '</a.css>' });
      stream.respond({ ':status': 200, 'x-one': '1' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '5' }));
      stream.end('hello');
    });
    const client = await gateway.connect();
    const response = await client.ask(head('GET /a'));
    expect(response).toMatchObject({ status: 200 });
    expect(response.body.toString()).toBe('hello');
    expect(JSON.stringify(response)).toContain('x-sum');
  });

  test('costs a 502 where it is not there, and shows its connections', async () => {
    const { gateway } = await front();
    await gateway.ask(head('GET /a'));
    const metrics = await gateway.admin('/metrics');
    expect(metrics.text).toContain('weir_upstream_connections{upstream="api"} 1\n');
    const gone = await startGateway({ upstreamPort: await freePort(), api: { protocol: 'h2' } });
    expect((await gone.ask(head('GET /a'))).status).toBe(502);
  });

  test('is asked again, with any method, where it refused the stream', async () => {
    const { upstream, gateway } = await front(({ stream }) => {
      if (upstream.requests.length === 1) stream.close(7);
      else stream.respond({ ':status': 204 }, { endStream: true });
    });
    expect((await gateway.ask(head('POST /a', 'Content-Length: 0'))).status).toBe(204);
    expect(upstream.requests).toHaveLength(2);
  });
});

test('its responses pass with their version in Via, and with trailers beside a stated length', async () => {
  const upstream = await startH2Upstream(({ stream }) => {
    stream.respond({ ':status': 200, 'content-length': 2 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }));
    stream.end('ok');
  });
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    api: { protocol: 'h2' },
    config: { listen: H2C },
  });
  const session = connectHttp2(gateway);
  for (const fields of [{}, { te: 'trailers' }]) {
    const { status, fields: back, rstCode, trailers } = await ask(session, { ':path': '/', ...fields });
    expect({ status, rstCode }).toEqual({ status: 200, rstCode: 0 });
    expect(back).toMatchObject({ via: '2 weir', 'content-length': '2' });
    expect(trailers).toMatchObject({ 'x-sum': '7' });
  }
});

test('a head that the upstream does not take is answered 431 and never sent', async () => {
  const upstream = await startH2Upstream(undefined, { settings: { maxHeaderListSize: 8_192 } });
  const gateway = await startGateway({ upstreamPort: upstream.port, api: { protocol: 'h2' } });
  const ask = (bytes: number) => gateway.ask(head('POST /', `X-Large: ${'x'.repeat(bytes)}`));
  expect(await ask(8_000)).toMatchObject({ status: 431 });
  expect(await ask(6_000)).toMatchObject({ status: 200 });
  expect(upstream.requests).toHaveLength(1);
});

/** The fields that came as never indexed. */
const neverIndexed = (fields: IncomingHttpHeaders) => Reflect.get(fields, sensitiveHeaders);

test('fields that one side sends as never indexed reach the other side so, one by one', async () => {
  const upstream = await startH2Upstream(({ stream }) => {
    const secret = { 'x-secret': 'a', 'x-open': 'b', [sensitiveHeaders]: ['x-secret'] };
    stream.additionalHeaders({ ':status': 103, ...secret });
    stream.respond({ ':status': 200, 'set-cookie': ['a=1', 'b=2'], ...secret }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(secret));
    stream.end('ok');
  });
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    api: { protocol: 'h2' },
    config: { listen: H2C },
  });
  const session = connectHttp2(gateway);
  const request = { ':path': '/?key=a', 'x-key': 'a', 'x-open': 'b' };
  const response = await ask(session, { ...request, [sensitiveHeaders]: ['x-key', ':path'] });
  await ask(session, request);
  // Goes on as `:authority`, since the client has sent none.
  await ask(session, { ...request, host: 'gateway.test', [sensitiveHeaders]: ['host'] });
  const marked = upstream.requests.map(({ headers }) => neverIndexed(headers));
  expect(marked).toEqual([[':path', 'x-key'], [], [':authority']]);
  const { fields, interim, trailers } = response;
  expect([...interim, fields, trailers].map(neverIndexed)).toEqual([
    ['x-secret'],
    ['x-secret'],
    ['x-secret'],
  ]);
});

test('an upload that waits for its window ends when the upstream resets it without an error', async () => {
  const upstream = await startFrameUpstream({
    stream: async (peer, id) => {
      const bodies = () => peer.frames.filter(({ type }) => type === TYPE.data);
      const received = () => bodies().reduce((sum, { payload }) => sum + payload.length, 0);
      await waitFor('the window is full', () => received() === 65_535);
      peer.send(frame(TYPE.rstStream, 0, id, uint32(0)));
    },
  });
  const gateway = await startGateway({ upstreamPort: upstream.port, api: { protocol: 'h2' } });
  const response = await gateway.ask(withBody('POST /', 'x'.repeat(200_000)));
  expect(response).toMatchObject({ status: 502 });
  await waitFor('nothing is in flight', async () => {
    return (await gateway.metric('weir_requests_in_flight')).get('') === 0;
  });
});

describe('over TLS', () => {
  const authority = new TestAuthority();
  const { certificate: cert, key } = authority.forHosts('127.0.0.1');

  async function startBefore(server: Server, protocol = 'h2') {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const ca = join(await tempFolder(), 'ca.crt');
    await writeFile(ca, authority.certificate);
    const api = { url: `https://127.0.0.1:${port}`, protocol, tls: { ca_file: ca } };
    return await startGateway({ upstreamPort: port, api, config: { log: { level: 'info', access: true } } });
  }

  test('an upstream that agrees on h2 is served', async () => {
    const server = createSecureServer({ cert, key }, (request, response) => {
      response.end(`${request.headers[':scheme']} ${request.httpVersion}`);
    });
    const response = await (await startBefore(server)).ask(head('GET /a'));
    expect(response.status).toBe(200);
    expect(response.body.toString()).toBe('https 2.0');
  });

  test('one that does not costs a 502, and the log says why', async () => {
    const server = createHttps({ cert, key }, (_request, response) => response.end());
    const gateway = await startBefore(server);
    expect((await gateway.ask(head('GET /a'))).status).toBe(502);
    await waitFor('the log says why', () =>
      gateway.logLines.some(line => /ALPN|alert no application protocol/i.test(line)),
    );
  });
});

test('Via says by which version of HTTP each message came: docs/contract.md, 4.7 and 6.4', async () => {
  const refusals = [
    ['rewritten', {}],
    ['passing', { 'content-type': 'application/json', 'retry-after': '7', ...GLOBALLY }],
  ] as const;
  const body = '{"message":"theirs","retry_after":7,"global":true}';
  const upstream = await startH2Upstream(({ stream, headers }) => {
    const fields = refusals.find(([name]) => headers[':path'] === `/${name}`)?.[1];
    stream.respond({ ':status': fields === undefined ? 200 : 429, ...fields });
    stream.end(body);
  });
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    api: { protocol: 'h2' },
    config: { listen: H2C },
  });
  const session = connectHttp2(gateway);
  const via = async (path: string) => (await ask(session, { ':path': path })).fields['via'];
  // Of the upstream, over HTTP/2.
  expect(await via('/a')).toBe('2 weir');
  expect(await via('/rewritten')).toBe('2 weir');
  expect(await via('/passing')).toBe('2 weir');
  // Of the gateway itself, to any client.
  expect(await via('/v1/anonymous/nothing')).toBe('1.1 weir');
  // The request of a client, over HTTP/2 and HTTP/1.1.
  await gateway.ask(head('GET /b'));
  expect(upstream.requests.map(({ headers }) => headers['via'])).toEqual([
    ...['2 weir', '2 weir', '2 weir', '1.1 weir'],
  ]);
});

const GLOBALLY = { 'x-ratelimit-scope': 'global', 'x-ratelimit-global': 'true' };
