import { once } from 'node:events';
import { connect } from 'node:http2';
import { describe, expect, onTestFinished, test } from 'vitest';
import { changeConfig } from '../support/edit-config.ts';
import { expectError, expectRejected } from '../support/error-object.ts';
import { type GatewaySettings, startGateway } from '../support/gateway.ts';
import { ask, connectHttp2, H2C } from '../support/http2-client.ts';
import { shared } from '../support/lifetime.ts';
import { askOnce, startLimited } from '../support/limits.ts';
import { handshake } from '../support/raw-web-sockets.ts';
import { head, withBody } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream, values } from '../support/wire/index.ts';

async function start(settings: Partial<GatewaySettings> = {}) {
  const upstream = await startUpstream();
  return { upstream, gateway: await startGateway({ upstreamPort: upstream.port, ...settings }) };
}

const started = shared(start);

/** The gateway of most tests here, in front of an upstream that has seen nothing yet. */
async function front() {
  const { upstream, gateway } = await started();
  await upstream.renew();
  return { upstream, gateway };
}

describe('a Host that names one place', () => {
  test('passes to the upstream as it came', async () => {
    const { upstream, gateway } = await front();
    const hosts = [
      ...['gateway.test', 'gateway.test:8080', 'gateway.test:65535', '127.0.0.1', '[::1]', '[::1]:8080'],
      ...['a_b.test', 'xn--bcher-kva'],
    ];
    for (const host of hosts)
      expect((await gateway.ask(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).status, host).toBe(200);
    for (const name of ['host', 'x-forwarded-host'])
      expect(upstream.requests.map(({ fields }) => values(fields, name))).toEqual(hosts.map(host => [host]));
  });

  test("is replaced by the upstream's own where its configuration says so", async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port, api: { host: 'upstream' } });
    expect((await gateway.ask(head('GET /'))).status).toBe(200);
    expect(values(upstream.onlyRequest.fields, 'host')).toEqual([`127.0.0.1:${upstream.port}`]);
    expect(values(upstream.onlyRequest.fields, 'x-forwarded-host')).toEqual(['gateway.test']);
  });

  test('is replaced by that of the address that the request goes to, where addresses have several', async () => {
    const services = [await startUpstream(), await startUpstream()];
    const gateway = await startGateway({
      upstreamPort: 0,
      config: {
        upstreams: {
          api: { urls: services.map(({ port }) => `http://127.0.0.1:${port}`), host: 'upstream' },
        },
      },
    });
    const isAsked = () => services.every(({ requests }) => requests.length > 0);
    for (let asked = 0; asked < 200 && !isAsked(); asked++)
      expect((await gateway.ask(head('GET /'))).status).toBe(200);
    expect(isAsked()).toBe(true);
    for (const { port, requests } of services)
      expect(new Set(requests.flatMap(({ fields }) => values(fields, 'host')))).toEqual(
        new Set([`127.0.0.1:${port}`]),
      );
  });

  test('is replaced by a name where its configuration says so, for WebSockets too', async () => {
    const upstream = await startUpstream();
    const api = { host: 'api.internal:8443' };
    const gateway = await startGateway({ upstreamPort: upstream.port, api, route: { websocket: true } });
    expect((await gateway.ask(head('GET /'))).status).toBe(200);
    const client = await gateway.connect();
    await client.send(handshake('/live'));
    await client.answer();
    expect(upstream.requests.map(({ fields }) => values(fields, 'host'))).toEqual([[api.host], [api.host]]);
    expect(upstream.requests.map(({ fields }) => values(fields, 'x-forwarded-host'))).toEqual([
      ['gateway.test'],
      ['gateway.test'],
    ]);
  });
});

describe('a target in absolute-form', () => {
  test('for the same authority goes upstream in origin-form', async () => {
    const { upstream, gateway } = await front();
    for (const target of ['http://gateway.test/a?b', 'HTTP://gateway.test/a?b', 'http://GATEWAY.test/a?b'])
      expect((await gateway.ask(head(`GET ${target}`))).status, target).toBe(200);
    for (const { target, fields } of upstream.requests)
      expect([target, values(fields, 'host')]).toEqual(['/a?b', ['gateway.test']]);
  });

  test('for another is refused', async () => {
    const { upstream, gateway } = await front();
    for (const target of [
      ...['http://other.test/a', 'http://gateway.test:81/a', 'http://user@gateway.test/a'],
      ...['http://gateway.test@other.test/a', 'http://gateway.test\\@other.test/a', 'http:///a'],
      ...['http://a:99999/', 'ftp://gateway.test/a', 'javascript:alert(1)', 'gateway.test/a'],
    ]) {
      const client = await gateway.connect();
      await client.send(head(`GET ${target}`));
      await expectRejected(client, 400, 3, target);
    }
    expect(upstream.connections).toEqual([]);
  });
});

describe('methods that few know', () => {
  const named = async () => {
    const upstream = await startUpstream();
    const config = {
      listen: H2C,
      cors: { origins: ['https://app.example'] },
      routes: [
        { path: '/pots/**', upstream: 'api', authentication: 'none', methods: ['BREW', 'get-pot', 'GET'] },
        { path: '/pots/admin', upstream: 'api', authentication: 'none' },
      ],
    };
    return { upstream, gateway: await startGateway({ upstreamPort: upstream.port, config }) };
  };

  test.each(['1.1', '2'] as const)(
    'are served where they are named, and there alone, over HTTP/%s',
    async version => {
      const { upstream, gateway } = await named();
      const statusOf = async (method: string, path: string, body?: string) => {
        if (version === '2') {
          const fields = { ':method': method, ':path': path };
          return (await ask(connectHttp2(gateway), fields, body)).status;
        }
        const line = `${method} ${path}`;
        return (await gateway.ask(body === undefined ? head(line) : withBody(line, body))).status;
      };
      expect(await statusOf('BREW', '/pots/1')).toBe(200);
      expect(await statusOf('BREW', '/pots/1', 'milk')).toBe(200);
      expect(await statusOf('get-pot', '/pots/1')).toBe(200);
      const seen = upstream.requests.map(({ method, body }) => [method, body.toString()]);
      expect(seen).toEqual([
        ['BREW', ''],
        ['BREW', 'milk'],
        ['get-pot', ''],
      ]);
      // The more specific route takes every method that gateways know: it decides, not the other.
      for (const [method, path] of [
        ...[['BREW', '/pots/admin'] as const, ['BREW', '/elsewhere'] as const],
        ...[['brew', '/pots/1'] as const, ['GET-POT', '/pots/1'] as const, ['BREWS', '/pots/1'] as const],
      ])
        expect(await statusOf(method, path), `${method} ${path}`).toBe(405);
      expect(await statusOf('POST', '/pots/1')).toBe(404);
      expect(upstream.requests).toHaveLength(3);
    },
  );

  test('are named by Allow and to the pages that ask', async () => {
    const { gateway } = await named();
    const allowed = async (...lines: string[]) => {
      const { fields } = await gateway.ask(head('OPTIONS /pots/1', ...lines));
      return [...values(fields, 'allow'), ...values(fields, 'access-control-allow-methods')];
    };
    const origin = 'Origin: https://app.example';
    expect(await allowed(origin, 'Access-Control-Request-Method: BREW')).toEqual(['BREW']);
    expect(await allowed(origin, 'Access-Control-Request-Method: BREWS')).toEqual([]);
    const asked = await gateway.ask(head('OPTIONS /pots/admin', 'Max-Forwards: 0'));
    expect(values(asked.fields, 'allow')[0]).not.toContain('BREW');
  });

  test('draw on the bucket of a line of limits.yaml that names them', async () => {
    const front = await startLimited(
      { buckets: { brewing: { address: '1/1h' } }, routes: { 'BREW /pots/**': 'brewing' } },
      { routes: [{ path: '/pots/**', authentication: 'none', methods: ['BREW', 'GET'] }] },
    );
    const statuses: number[] = [];
    for (const line of ['GET /pots/1', 'BREW /pots/1', 'BREW /pots/2', 'GET /pots/1'])
      statuses.push((await askOnce(front, line)).status);
    expect(statuses).toEqual([200, 200, 429, 200]);
  });

  test('are known, and forgotten, by a reload, also to connections that are open', async () => {
    const { gateway } = await named();
    const client = await gateway.connect();
    expect((await client.ask(head('BREW /pots/1'))).status).toBe(200);
    const route = { path: '/**', upstream: 'api', authentication: 'none', methods: ['STEEP'] };
    await changeConfig(gateway, { routes: [route] });
    await waitFor('it is in use', async () => (await gateway.ask(head('STEEP /a'))).status === 200);
    expect((await client.ask(head('BREW /pots/1'))).status).toBe(405);
  });
});

describe('a request that asks for something else than a resource', () => {
  test('is refused, and nothing becomes a tunnel', async () => {
    const { upstream, gateway } = await front();
    for (const [name, status, bytes] of [
      ['CONNECT', 405, 'CONNECT gateway.test:443 HTTP/1.1\r\nHost: gateway.test:443\r\n\r\n'],
      ['TRACE', 405, head('TRACE /a')],
      ['GET *', 400, head('GET *')],
      ['an unknown method', 405, head('MADEUP /a')],
      ['a method that is no token', 400, head('G(T /a')],
      ['HTTP/1.2', 505, 'GET /a HTTP/1.2\r\nHost: gateway.test\r\n\r\n'],
      ['HTTP/0.9', 400, 'GET /a\r\n\r\n'],
      ['no target', 400, 'GET HTTP/1.1\r\nHost: gateway.test\r\n\r\n'],
      ['a bare LF before it', 400, `\n${head('GET /a')}`],
      ['the preface of HTTP/2', 505, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
      ['a TLS handshake', 400, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
      ['tabs in the request line', 400, 'GET\t/a\tHTTP/1.1\r\nHost: gateway.test\r\n\r\n'],
    ] as const) {
      const client = await gateway.connect();
      await client.send(bytes);
      const response = await client.answer();
      expect(response.status, name).toBe(status);
      expectError(response, status, 3);
      expect(await client.ended(), name).toBe('close');
      await client.send(head('GET /after'));
    }
    expect(upstream.connections).toEqual([]);
  });

  test('from an HTTP/2 client is told the supported versions', async () => {
    const { upstream, gateway } = await front();
    const session = connect(`http://127.0.0.1:${gateway.port}`);
    onTestFinished(() => session.destroy());
    const [error] = await once(session, 'error');
    expect(String(error)).toContain('Protocol error');
    const client = await gateway.connect();
    await client.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    const response = await expectRejected(client, 505);
    expect(response.body.toString()).toContain('HTTP/1.1 and HTTP/1.0, not HTTP/2');
    expect(upstream.connections).toEqual([]);
  });

  test.each([
    ['of HTTP/1 alone', '127.0.0.1:0'],
    ['of HTTP/2 as well', { address: '127.0.0.1:0', h2c: true }],
  ])('on a listener %s is told what a request line may say, and nothing untrue', async (_, http) => {
    const { gateway } = await start({ config: { listen: { http, admin: '127.0.0.1:0' } } });
    for (const version of ['HTTP/3.0', 'HTTP/2.0', 'HTTP/0.9', 'HTTP/1.2']) {
      const client = await gateway.connect();
      await client.send(`GET / ${version}\r\nHost: a\r\n\r\n`);
      const text = (await expectRejected(client, 505)).body.toString();
      expect(text).toContain('send HTTP/1.1 or HTTP/1.0');
      expect(text).not.toContain('not HTTP/2');
    }
  });

  test('differs from an unusual method, which passes', async () => {
    const { upstream, gateway } = await front();
    const methods = [
      ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY', 'PROPFIND', 'MKCOL', 'M-SEARCH'],
    ];
    for (const method of methods) expect((await gateway.ask(head(`${method} /a`))).status, method).toBe(200);
    expect(upstream.requests.map(({ method, target }) => [method, target])).toEqual(
      methods.map(method => [method, '/a']),
    );
  });

  test('is another thing than one with more blanks than it needs: they are not sent on', async () => {
    const { upstream, gateway } = await front();
    const { status } = await gateway.ask('GET  /a  HTTP/1.1\r\nHost: gateway.test\r\n\r\n');
    // RFC 9112 section 3 lets a reader take them for one; the strict upstream would refuse them.
    expect([200, 400]).toContain(status);
    expect(upstream.requests.map(request => request.target)).toEqual(status === 200 ? ['/a'] : []);
  });
});
