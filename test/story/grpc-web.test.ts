import { describe, expect, test } from 'vitest';
import { type GatewaySettings, type LocalGateway, startGateway } from '../support/gateway.ts';
import { startDyingServer, startGrpcServer } from '../support/grpc.ts';
import {
  FAILED,
  framed,
  type PostOptions,
  post,
  readBody,
  readText,
  startWebService,
  type WebService,
  webRoute,
} from '../support/grpc-web.ts';
import { startH2Upstream } from '../support/h2-upstream.ts';
import { H2C } from '../support/http2-client.ts';
import { accessLines, startGatewayOf } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { tempText } from '../support/temp.ts';
import { startIssuer, validFor } from '../support/test-issuer.ts';
import { startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

type More = {
  readonly config?: GatewaySettings['config'];
  readonly route?: object;
  readonly upstream?: object;
};

/** A gateway in front of a server of gRPC. */
function startBefore(port: number, { config, route, upstream }: More = {}): Promise<LocalGateway> {
  const log = { level: 'info', access: true };
  return startGateway({
    upstreamPort: port,
    config: { listen: H2C, log, ...webRoute(port, route, upstream), ...config },
  });
}

async function start(more: More = {}): Promise<{ gateway: LocalGateway; service: WebService }> {
  const service = await startWebService();
  return { gateway: await startBefore(service.port, more), service };
}

const TEXT = 'application/grpc-web-text+proto';
const ORIGIN = 'https://app.example';
const PREFLIGHT = { Origin: ORIGIN, 'Access-Control-Request-Method': 'POST' };

describe.each(['1.1', '2'] as const)('a call of gRPC-Web over HTTP/%s', version => {
  const call = (gateway: LocalGateway, options: PostOptions) => post(gateway, version, options);

  test('reaches its service as gRPC, and the response ends with the trailers', async () => {
    const { gateway, service } = await start();
    const fields = {
      'X-Grpc-Web': '1',
      'X-User-Agent': 'test/1',
      'X-Mark': 'a',
      Accept: 'application/grpc-web',
    };
    const response = await call(gateway, { body: framed('hé'), fields });
    expect(response).toMatchObject({
      status: 200,
      fields: { 'content-type': 'application/grpc-web+proto', 'x-head': 'one' },
    });
    expect(response.fields['content-length']).toBeUndefined();
    expect(readBody(response.body)).toEqual({
      messages: ['hé'],
      trailers: { 'grpc-status': '0', 'grpc-message': 'OK', 'x-end': 'two' },
    });
    const [seen] = service.metadata;
    expect(seen?.get('x-mark')).toEqual(['a']);
    expect(seen?.get('x-user-agent')).toEqual(['test/1']);
    for (const name of ['x-grpc-web', 'accept', 'accept-encoding']) expect(seen?.get(name), name).toEqual([]);
    await expect
      .poll(() => accessLines(gateway))
      .toMatchObject([
        {
          protocol: 'grpc_web',
          route: 'GRPC test.v1.Echo/*',
          outcome: 'forwarded',
          grpcStatus: 0,
          bytesReceived: framed('hé').length,
          bytesSent: response.body.length,
        },
      ]);
    const counted = await gateway.counted('weir_grpc_calls_total');
    expect(counted.get('{route="GRPC test.v1.Echo/*",code="OK"}')).toBe(1);
  });

  test("carries no token of its page's URL", async () => {
    const service = await startWebService();
    const { upstreams, routes } = webRoute(service.port);
    const issuer = await startIssuer();
    const page = { path: '/page', upstream: 'pages', token_from: [{ query: 'access_token' }] };
    const { gateway } = await startGatewayOf(issuer, {
      config: {
        listen: H2C,
        upstreams: { ...upstreams, pages: { url: 'http://127.0.0.1:1' } },
        routes: [...routes, page],
      },
    });
    const fields = { Referer: `http://gateway.test/page?access_token=${secret('of-the-page')}&x=1` };
    expect((await call(gateway, { body: framed('a'), fields })).status).toBe(200);
    const [seen] = service.metadata;
    expect(seen?.get('referer')).toEqual(['http://gateway.test/page?x=1']);
  });

  test('passes as text, whose groups may be padded anywhere', async () => {
    const { gateway } = await start();
    const bytes = framed('text');
    const body = bytes.subarray(0, 4).toString('base64') + bytes.subarray(4).toString('base64');
    const response = await call(gateway, { type: TEXT, body });
    expect(response.fields['content-type']).toBe(TEXT);
    expect(readText(response.body)).toMatchObject({ messages: ['text'], trailers: { 'grpc-status': '0' } });
    const asked = await call(gateway, { body: bytes, fields: { Accept: TEXT } });
    expect(readText(asked.body).messages).toEqual(['text']);
    const binary = await call(gateway, { type: TEXT, body, fields: { Accept: 'application/grpc-web' } });
    expect(readBody(binary.body).messages).toEqual(['text']);
  });

  test('gets a stream of messages, and a status behind them', async () => {
    const { gateway } = await start();
    const path = '/test.v1.Echo/Download';
    const whole = readBody((await call(gateway, { path, body: framed('100') })).body);
    expect(whole.messages).toEqual(Array.from({ length: 100 }, (_, i) => String(i + 1)));
    expect(whole.trailers).toMatchObject({ 'grpc-status': '0', 'x-end': 'two' });
    const failed = readBody((await call(gateway, { path, body: framed('2 fail') })).body);
    expect(failed.messages).toEqual(['1', '2']);
    expect(failed.trailers).toMatchObject({ 'grpc-status': '9', 'x-why': 'because' });
  });

  test('ends with the status of a service that sends nothing but trailers, all of which stand in the body', async () => {
    const { gateway } = await start();
    const { status, fields, body } = await call(gateway, { body: framed('fail') });
    const { messages, trailers } = readBody(body);
    expect([status, messages]).toEqual([200, []]);
    expect(trailers).toMatchObject({ 'grpc-status': '9', 'x-why': 'because' });
    expect(decodeURIComponent(trailers['grpc-message'] ?? '')).toBe(FAILED.details);
    for (const name of ['grpc-status', 'grpc-message', 'x-why']) expect(fields[name], name).toBeUndefined();
    await expect.poll(() => accessLines(gateway)[0]).toMatchObject({ outcome: 'forwarded', grpcStatus: 9 });
  });

  test('passes messages of megabytes both ways', async () => {
    const port = await startGrpcServer({
      Unary: (asked: { request: Buffer }, done: (error: null, message: Buffer) => void) =>
        done(null, asked.request),
      ...{ Upload: () => {}, Download: () => {}, Talk: () => {} },
    });
    const gateway = await startBefore(port);
    const message = Buffer.alloc(3_000_000, 'weir');
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    const frame = Buffer.concat([prefix, message]);
    const { body } = await call(gateway, { body: frame });
    expect(body.subarray(0, frame.length).equals(frame)).toBe(true);
    const text = await call(gateway, { type: TEXT, body: frame.toString('base64') });
    const groups = text.body.toString('latin1').match(/[^=]+=*/g) ?? [];
    const decoded = Buffer.concat(groups.map(group => Buffer.from(group, 'base64')));
    expect(decoded.subarray(0, frame.length).equals(frame)).toBe(true);
  });

  test.each([
    ['no base64', TEXT, 'AAAA!AAA', 'not base64'],
    ['trailers', undefined, Buffer.concat([framed('a'), framed('b', 0x80)]), 'something other than messages'],
  ])('is refused for a body with %s', async (_, type = 'application/grpc-web', body, why) => {
    const { gateway } = await start();
    const response = await call(gateway, { path: '/test.v1.Echo/Upload', type, body });
    const { trailers } = (type === TEXT ? readText : readBody)(response.body);
    expect([response.status, trailers['grpc-status']]).toEqual([200, '3']);
    expect(trailers['grpc-message']).toContain(why);
    await expect.poll(() => accessLines(gateway)[0]).toMatchObject({ status: 400, outcome: 'answered' });
  });

  test('ends at its deadline', async () => {
    const { gateway, service } = await start();
    const fields = { 'Grpc-Timeout': '300m' };
    const unary = await call(gateway, { body: framed('wait'), fields });
    expect(readBody(unary.body).trailers).toMatchObject({ 'grpc-status': '4' });
    const path = '/test.v1.Echo/Download';
    const stream = await call(gateway, {
      path,
      type: TEXT,
      body: framed('2 wait').toString('base64'),
      fields,
    });
    expect(readText(stream.body).trailers).toMatchObject({ 'grpc-status': '4' });
    await expect.poll(() => service.open.every(({ cancelled }) => cancelled)).toBe(true);
    const bad = await call(gateway, { body: framed('a'), fields: { 'grpc-timeout': 'soon' } });
    expect(readBody(bad.body).trailers['grpc-status']).toBe('3');
  });

  test('is told that its service broke off', async () => {
    const gateway = await startBefore(await startDyingServer());
    const before = await call(gateway, { body: framed('a'), fields: { 'x-when': 'before' } });
    expect([before.status, readBody(before.body).trailers['grpc-status']]).toEqual([200, '14']);
    const after = await call(gateway, { body: framed('a'), fields: { 'x-when': 'after' } });
    // The message of that server is a bare text.
    expect(after.body.subarray(5, 9).toString()).toBe('part');
    expect(readBody(after.body.subarray(9)).trailers['grpc-status']).toBe('14');
  });

  test('is broken off within a message, which would swallow the trailers', async () => {
    const { port } = await startH2Upstream(({ stream }) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      stream.write(framed('abc').subarray(0, 6), () => stream.close(2));
    });
    const gateway = await startBefore(port);
    const broken = call(gateway, { body: framed('a') }).then(
      response => ('rstCode' in response ? response.rstCode : 0) !== 0,
      () => true,
    );
    expect(await broken).toBe(true);
    await expect.poll(() => accessLines(gateway)[0]).toMatchObject({ outcome: 'truncated' });
  });

  test.each([
    [200, 'text/html', '2'],
    [404, 'text/html', '12'],
    [503, 'application/grpc', '14'],
  ])('ends with a status if its service answers with %s %s', async (status, type, code) => {
    const { port } = await startH2Upstream(({ stream }) => {
      stream.respond({ ':status': status, 'content-type': type });
      stream.end('<html>');
    });
    const response = await call(await startBefore(port), { body: framed('a') });
    expect([response.status, readBody(response.body)]).toMatchObject([
      200,
      { messages: [], trailers: { 'grpc-status': code } },
    ]);
  });
});

describe.each(['1.1', '2'] as const)('a call of gRPC-Web that is refused over HTTP/%s', version => {
  const call = (gateway: LocalGateway, options: PostOptions) => post(gateway, version, options);

  test('has its status in the body, and what the gateway says of limits in the head', async () => {
    const limits = await tempText(
      'limits.yaml',
      'global: off\nbuckets: { b: { address: 3/1h } }\nroutes: { GRPC test.v1.Echo/*: { bucket: b, cost: 2 } }\n',
    );
    const { gateway } = await start({ config: { limits, cors: { origins: [ORIGIN] } } });
    const fields = { Origin: ORIGIN };
    const first = await call(gateway, { body: framed('a'), fields });
    expect(first.fields).toMatchObject({
      'x-ratelimit-remaining': '1',
      'access-control-allow-origin': ORIGIN,
    });
    const { status, fields: got, body } = await call(gateway, { body: framed('a'), fields });
    expect(status).toBe(200);
    expect(got).toMatchObject({
      'content-type': 'application/grpc-web+proto',
      'content-length': String(body.length),
      'x-ratelimit-remaining': '0',
      'access-control-allow-origin': ORIGIN,
    });
    expect(Number(got['retry-after'])).toBeGreaterThan(3_590);
    const exposed = String(got['access-control-expose-headers']).split(', ');
    const names = [
      ...['Retry-After', 'X-RateLimit-Reset', 'grpc-status', 'grpc-message', 'grpc-status-details-bin'],
    ];
    expect(exposed).toEqual(expect.arrayContaining(names));
    expect(readBody(body)).toMatchObject({
      messages: [],
      trailers: { 'grpc-status': '8', 'grpc-status-details-bin': expect.any(String) },
    });
    const text = await call(gateway, { type: TEXT, body: framed('a').toString('base64') });
    expect(text.fields['content-type']).toBe(TEXT);
    expect(readText(text.body).trailers['grpc-status']).toBe('8');
    await expect
      .poll(() => accessLines(gateway)[1])
      .toMatchObject({ protocol: 'grpc_web', status: 429, grpcStatus: 8, outcome: 'answered' });
  });

  test('ends with UNAVAILABLE past the cap of its upstream, whose calls it shares', async () => {
    const upstream = { max_grpc_calls: 1, max_grpc_calls_per_caller: '100%' };
    const { gateway, service } = await start({ upstream });
    const fields = { 'grpc-timeout': '1H' };
    void call(gateway, { body: framed('wait'), fields }).catch(() => {});
    await expect.poll(() => service.open.length).toBe(1);
    const { body, fields: got } = await call(gateway, { body: framed('a') });
    expect([readBody(body).trailers['grpc-status'], got['retry-after']]).toEqual(['14', '1']);
  });

  test('ends with RESOURCE_EXHAUSTED if it is too large', async () => {
    const { gateway } = await start({ route: { max_body: '100B' } });
    const { body } = await call(gateway, { body: Buffer.alloc(101) });
    expect(readBody(body).trailers['grpc-status']).toBe('8');
  });

  test('gets 415 where its route takes only gRPC, unless a route with a path takes it', async () => {
    const { gateway } = await start({ route: { grpc_web: false } });
    expect(await call(gateway, { body: framed('a') })).toMatchObject({
      status: 415,
      fields: { 'content-type': 'application/json' },
    });
    expect((await call(gateway, { path: '/test.v1.Other/Unary', body: framed('a') })).status).toBe(404);
    const { port } = await startWebService();
    const own = await startUpstream();
    const { upstreams, routes } = webRoute(port, { grpc_web: false });
    const both = await startBefore(own.port, {
      config: {
        upstreams: { ...upstreams, api: { url: `http://127.0.0.1:${own.port}` } },
        routes: [...routes, { path: '/**', upstream: 'api', authentication: 'none' }],
      },
    });
    expect((await call(both, { body: framed('a') })).status).toBe(200);
    expect(own.onlyRequest.body).toEqual(framed('a'));
  });
});

describe('a route of gRPC-Web', () => {
  test('takes a call over HTTP/1.0, whose response ends with the connection', async () => {
    const { gateway } = await start();
    const client = await gateway.connect();
    const body = framed('old');
    const asked = `POST /test.v1.Echo/Unary HTTP/1.0\r\nHost: a\r\nContent-Type: application/grpc-web\r\nContent-Length: ${body.length}\r\n\r\n`;
    const response = await client.ask(Buffer.concat([Buffer.from(asked), body]));
    expect(readBody(response.body)).toMatchObject({ messages: ['old'], trailers: { 'grpc-status': '0' } });
    client.destroy();
  });

  test('ends a stream behind its messages when the token expires, and refuses without one or without its rights', async () => {
    const time = new FrozenClock(Date.now());
    const issuer = await startIssuer();
    const service = await startWebService();
    const route = { authentication: 'required', close_at_expiry: true, require: { scopes: ['echo'] } };
    const config = { listen: H2C, ...webRoute(service.port, route) };
    const tokens = { leeway: '0s' };
    const { gateway } = await startGatewayOf(issuer, { config, tokens, clock: time });
    const without = await post(gateway, '1.1', { body: framed('a') });
    expect(without).toMatchObject({ status: 200, fields: { 'www-authenticate': 'Bearer' } });
    expect(readBody(without.body).trailers['grpc-status']).toBe('16');
    const bearer = (scope: string) => ({
      Authorization: `Bearer ${issuer.token({ ...validFor(60, time), scope })}`,
    });
    const lacking = await post(gateway, '2', { body: framed('a'), fields: bearer('other') });
    expect(readBody(lacking.body).trailers['grpc-status']).toBe('7');
    expect(lacking.fields['www-authenticate']).toContain('insufficient_scope');
    const response = await fetch(`http://127.0.0.1:${gateway.port}/test.v1.Echo/Download`, {
      method: 'POST',
      headers: { ...bearer('echo'), 'Content-Type': 'application/grpc-web', Connection: 'close' },
      body: new Uint8Array(framed('2 wait')),
    });
    let body = Buffer.alloc(0);
    for await (const piece of response.body ?? []) {
      body = Buffer.concat([body, piece]);
      if (body.length === framed('1').length + framed('2').length) time.advance(61_000);
    }
    expect(readBody(body)).toMatchObject({ messages: ['1', '2'], trailers: { 'grpc-status': '16' } });
    await expect.poll(() => service.open[0]?.cancelled).toBe(true);
  });

  test('waits no longer for a request that comes too slowly', async () => {
    const service = await startWebService();
    const config = { listen: H2C, ...webRoute(service.port) };
    const time = new FrozenClock();
    const gateway = await startGateway({ upstreamPort: service.port, config, clock: time });
    const client = await gateway.connect();
    const lines = ['Content-Type: application/grpc-web', 'Content-Length: 100005'];
    await client.send(head('POST /test.v1.Echo/Unary', ...lines));
    await client.send(Buffer.from([0, 0, 1, 0x86, 0xa0]));
    const answer = client.answer();
    const sendOne = async () => {
      await client.send('x');
      return client.end !== null;
    };
    await time.advanceUntil('the request is over', sendOne, 1_000);
    expect(readBody((await answer).body).trailers['grpc-status']).toBe('4');
  });

  test('lets the service know when the client has gone', async () => {
    const { gateway, service } = await start();
    const stop = new AbortController();
    const url = `http://127.0.0.1:${gateway.port}/test.v1.Echo/Download`;
    const headers = { 'Content-Type': 'application/grpc-web' };
    const body = new Uint8Array(framed('1 wait'));
    const response = await fetch(url, { method: 'POST', headers, body, signal: stop.signal });
    expect(response.status).toBe(200);
    await expect.poll(() => service.open.length).toBe(1);
    stop.abort();
    await gateway.time.advanceUntil('the service knows', () => service.open[0]?.cancelled === true);
    await expect.poll(() => accessLines(gateway)[0]).toMatchObject({ outcome: 'abandoned' });
  });

  test('has preflights answered, whatever else the pages may send', async () => {
    const { gateway, service } = await start({
      config: { cors: { origins: [ORIGIN], allow_headers: ['Authorization'] } },
    });
    const ask = (path: string, fields: object, method = 'OPTIONS') =>
      fetch(`http://127.0.0.1:${gateway.port}${path}`, { method, headers: { ...fields } });
    const asked = { ...PREFLIGHT, 'Access-Control-Request-Headers': 'content-type,x-grpc-web,x-user-agent' };
    const response = await ask('/test.v1.Echo/Unary', asked);
    expect([response.status, Object.fromEntries(response.headers)]).toMatchObject([
      204,
      {
        'access-control-allow-origin': ORIGIN,
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': 'Authorization, Content-Type, X-Grpc-Web, X-User-Agent, Grpc-Timeout',
      },
    ]);
    const evil = await ask('/test.v1.Echo/Unary', { ...asked, Origin: 'https://evil.example' });
    expect(evil.headers.get('access-control-allow-origin')).toBeNull();
    // Nothing else is there.
    const put = { ...asked, 'Access-Control-Request-Method': 'PUT' };
    expect((await ask('/test.v1.Echo/Unary', put)).status).toBe(404);
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST'])
      expect((await ask('/test.v1.Echo/Unary', {}, method)).status, method).toBe(404);
    expect(service.metadata).toEqual([]);
  });

  test.each([
    ['without gRPC-Web', { grpc_web: false }],
    ['with cors: false', { cors: false }],
  ])('has no preflights answered %s, and its service gets none', async (_, route) => {
    const upstream = await startH2Upstream();
    const gateway = await startBefore(upstream.port, { route, config: { cors: { origins: [ORIGIN] } } });
    const url = `http://127.0.0.1:${gateway.port}/test.v1.Echo/Unary`;
    const response = await fetch(url, { method: 'OPTIONS', headers: PREFLIGHT });
    expect(response.status).toBe(404);
    expect(upstream.requests).toEqual([]);
  });

  test('still takes gRPC, and gRPC-Web not on the listener for gRPC alone', async () => {
    const { gateway } = await start({ config: { listen: { ...H2C, grpc: '127.0.0.1:0' } } });
    const grpcPort = gateway.app.addresses.grpc?.port ?? 0;
    const alone = Object.assign(Object.create(gateway), { port: grpcPort });
    expect((await post(alone, '2', { body: framed('a') })).status).toBe(415);
    const plain = await post(gateway, '2', {
      type: 'application/grpc',
      body: framed('a'),
      fields: { te: 'trailers' },
    });
    expect(plain.fields['content-type']).toBe('application/grpc+proto');
    expect(readBody(plain.body)).toEqual({ messages: ['a'], trailers: {} });
  });

  test('is explained', async () => {
    const config = { cors: { origins: [ORIGIN] } };
    const { gateway } = await start({ config });
    const told = async (front: LocalGateway) => {
      const { text: json } = await front.admin('/api/explain?method=GRPC&path=test.v1.Echo/Unary');
      return new Map<string, string>(
        JSON.parse(json).facts.map(({ about, text }: Record<string, string>) => [about, text]),
      );
    };
    const open = await told(gateway);
    expect(open.get('gRPC-Web')).toContain('taken on listen.http');
    expect(open.get('CORS')).toContain(`allowed origins: ${ORIGIN}`);
    const { gateway: closed } = await start({ config, route: { cors: false } });
    expect((await told(closed)).get('CORS')).toContain('no page of another origin may call');
    const { gateway: plain } = await start({ config, route: { grpc_web: false } });
    for (const about of ['gRPC-Web', 'CORS']) expect((await told(plain)).has(about)).toBe(false);
  });

  test('refuses an ambiguous request as HTTP', async () => {
    const { gateway } = await start();
    const response = await gateway.ask(head('POST /test.v1.Echo/%zz', 'Content-Type: application/grpc-web'));
    expect(response.status).toBe(400);
  });
});
