import { describe, expect, test } from 'vitest';
import { expectRejected } from '../support/error-object.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { ask, connectHttp2, H2C } from '../support/http2-client.ts';
import { connectFrames, headers, TYPE } from '../support/http2-frames.ts';
import { head } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { type CaptureUpstream, startUpstream, values } from '../support/wire/index.ts';

const ROUTES = [
  { path: '/api/**', hosts: ['api.example.test', 'api2.example.test'] },
  { path: '/api/**', hosts: ['*.example.test'] },
  { path: '/admin', hosts: ['admin.example.test'], methods: ['GET'] },
  { path: '/bücher'.replace('ü', '%C3%BC'), hosts: ['xn--bcher-kva.example.test', '[::1]'] },
  { path: '/general' },
  { path: '/api/health' },
].map(route => ({ ...route, upstream: 'api', authentication: 'none' }));

interface Front {
  readonly gateway: LocalGateway;
  readonly upstream: CaptureUpstream;
}

async function start(config: Readonly<Record<string, unknown>> = {}): Promise<Front> {
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: { routes: ROUTES, listen: H2C, log: { level: 'info', access: true }, ...config },
  });
  return { gateway, upstream };
}

interface AccessLine {
  readonly type: string;
  readonly route: string | null;
  readonly host?: string;
  readonly status: number;
}

/** The line of the access log of what `send` sends. */
async function lineOf({ gateway }: Front, send: () => Promise<unknown>): Promise<AccessLine> {
  const lines = () =>
    gateway.logLines.map(line => JSON.parse(line) as AccessLine).filter(({ type }) => type === 'access');
  const before = lines().length;
  await send();
  await waitFor('the request is logged', () => lines().length > before);
  return lines()[before] as AccessLine;
}

const routed = async (front: Front, host: string, target: string, ...lines: string[]) => {
  const request = `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${lines.map(line => `${line}\r\n`).join('')}\r\n`;
  return (await lineOf(front, () => front.gateway.ask(request))).route;
};

const API = 'api.example.test,+1/api/**';

describe('routes with hosts', () => {
  test('are chosen by the host first, whatever its case and port and with the dot of the root', async () => {
    const front = await start();
    for (const host of [
      'api.example.test',
      'API.Example.Test',
      'api.example.test:8443',
      'api.example.test.',
      'api2.example.test.:80',
    ])
      expect(await routed(front, host, '/api/health'), host).toBe(API);
    expect(await routed(front, 'other.example.test', '/api/health')).toBe('*.example.test/api/**');
    expect(await routed(front, 'a.other.example.test', '/api/health')).toBe('/api/health');
    expect(await routed(front, 'example.test', '/api/x')).toBeNull();
    expect(await routed(front, '127.0.0.1', '/api/health')).toBe('/api/health');
    expect(await routed(front, '[0:0::1]:80', '/b%C3%BCcher')).toMatch(/^xn--bcher-kva\.example\.test,\+1\//);
    expect(await routed(front, 'XN--BCHER-KVA.example.test', '/b%C3%BCcher')).toMatch(/^xn--bcher/);
  });

  test('give the service the host in the one spelling that chose the route, with its port', async () => {
    const front = await start();
    const session = connectHttp2(front.gateway);
    const sent = [
      ['api.example.test', 'api.example.test'],
      ['API.Example.Test', 'api.example.test'],
      ['Api.example.test.', 'api.example.test'],
      ['api2.example.test.:80', 'api2.example.test:80'],
      ['api.Example.test:08443', 'api.example.test:8443'],
      ['[0:0::1]:80', '[::1]:80'],
    ] as const;
    for (const [host, canonical] of sent) {
      await front.gateway.ask(`GET /general HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      await front.gateway.ask(`GET http://${host}/general HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      await ask(session, { ':authority': host, ':path': '/general' });
      const told = front.upstream.requests
        .splice(0)
        .map(({ fields }) => [...values(fields, 'host'), ...values(fields, 'x-forwarded-host')]);
      expect(told, host).toEqual(Array(3).fill([canonical, canonical]));
    }
  });

  test('leave a path that none of them takes to routes of the wildcard and without a host', async () => {
    const front = await start();
    expect(await routed(front, 'admin.example.test', '/admin')).toBe('GET admin.example.test/admin');
    expect(await routed(front, 'admin.example.test', '/api/x')).toBe('*.example.test/api/**');
    expect(await routed(front, 'admin.example.test', '/general')).toBe('/general');
    expect(await routed(front, 'api.example.test', '/admin')).toBeNull();
  });

  test('are chosen by Host alone: no forwarding header has a say, not even that of a trusted proxy', async () => {
    const front = await start({ trusted_proxies: ['127.0.0.1'] });
    const claims = [
      'X-Forwarded-Host: admin.example.test',
      'Forwarded: host=admin.example.test',
      'X-Original-Host: admin.example.test',
      'X-Host: admin.example.test',
    ];
    expect(await routed(front, 'api.example.test', '/admin', ...claims)).toBeNull();
    expect(await routed(front, 'admin.example.test', '/admin', 'X-Forwarded-Host: api.example.test')).toBe(
      'GET admin.example.test/admin',
    );
  });

  test('take a request in absolute-form by the host that both of its names agree on', async () => {
    const front = await start();
    const target = 'http://API.example.test/api/x';
    expect(await routed(front, 'api.example.test', target)).toBe(API);
    for (const other of ['admin.example.test', 'api.example.test:80', 'api.example.test.']) {
      const client = await front.gateway.connect();
      await client.send(`GET ${target} HTTP/1.1\r\nHost: ${other}\r\n\r\n`);
      await expectRejected(client);
    }
    expect(front.upstream.requests).toHaveLength(1);
  });

  test('follow a connection whose requests change their host and nothing else', async () => {
    const front = await start();
    const client = await front.gateway.connect();
    for (const [host, status] of [
      ['admin.example.test', 200],
      ['admin.example.test', 200],
      ['api.example.test', 404],
      ['admin.example.test', 200],
      ['admin.example.test.', 200],
      ['badmin.example.test', 404],
    ] as const) {
      const response = await client.ask(`GET /admin HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect(response.status, host).toBe(status);
    }
  });

  test('need a host from clients of HTTP/1.0, too', async () => {
    const front = await start();
    const without = await front.gateway.connect();
    await without.send('GET /general HTTP/1.0\r\n\r\n');
    await expectRejected(without);
    const line = await lineOf(front, () =>
      front.gateway.ask('GET /api/x HTTP/1.0\r\nHost: api.example.test\r\n\r\n'),
    );
    expect(line.route).toBe(API);
  });

  test('name hosts in the log as the configuration does, never as a client chose', async () => {
    const front = await start();
    const hostOf = async (host: string) =>
      (await lineOf(front, () => front.gateway.ask(`GET /general HTTP/1.1\r\nHost: ${host}\r\n\r\n`))).host;
    expect(await hostOf('ADMIN.example.test:8080')).toBe('admin.example.test');
    expect(await hostOf('whatever.example.test')).toBe('*.example.test');
    expect(await hostOf('evil.test')).toBeUndefined();
    const log = front.gateway.logLines.join('\n');
    expect(log).not.toContain('whatever');
    expect(log).not.toContain('evil');
  });

  test('leave the paths of the gateway itself alone: they answer on every host', async () => {
    const routes = [
      ...ROUTES,
      { path: '/**', hosts: ['all.example.test'], upstream: 'api', authentication: 'none' },
    ];
    const front = await start({ routes });
    for (const host of ['all.example.test', 'api.example.test', 'elsewhere.test']) {
      expect(await routed(front, host, '/v1/anonymous/auth'), host).toBe('/v1/anonymous/auth');
      // A mistyped path must not carry a code to the service behind `/**` of a host.
      const mistyped = await front.gateway.ask(
        `POST /v1/anonymous/auth%20 HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`,
      );
      expect(mistyped.status, host).toBe(404);
    }
    expect(front.upstream.requests).toEqual([]);
  });

  test('say in OPTIONS what the host offers', async () => {
    const front = await start();
    const allowed = async (host: string) => {
      const options = `OPTIONS /admin HTTP/1.1\r\nHost: ${host}\r\nMax-Forwards: 0\r\n\r\n`;
      return values((await front.gateway.ask(options)).fields, 'allow')[0];
    };
    const routes = [...ROUTES, { path: '/admin', upstream: 'api', authentication: 'none' }];
    const both = await start({ routes });
    expect(await allowed('admin.example.test')).toBeUndefined();
    const response = await both.gateway.ask(
      'OPTIONS /admin HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 0\r\n\r\n',
    );
    expect(values(response.fields, 'allow')[0]).toContain('DELETE');
  });

  test('answer preflights by the route of their host', async () => {
    const cors = { origins: ['https://app.test'] };
    const front = await start({ cors });
    const preflight = async (host: string) => {
      const asked = head('OPTIONS /admin', 'Origin: https://app.test', 'Access-Control-Request-Method: GET');
      const response = await front.gateway.ask(asked.replace(/Host: [^\r]*/, `Host: ${host}`));
      return values(response.fields, 'access-control-allow-methods')[0];
    };
    expect(await preflight('admin.example.test')).toContain('GET');
    expect(await preflight('api.example.test')).toBeUndefined();
    expect(front.upstream.requests).toEqual([]);
  });
});

describe('over HTTP/2, routes with hosts', () => {
  test('are chosen by :authority, in any case, and by Host where there is none', async () => {
    const front = await start();
    const session = connectHttp2(front.gateway);
    const routeOver2 = async (fields: Record<string, string>) =>
      (await lineOf(front, () => ask(session, { ':path': '/api/health', ...fields }))).route;
    expect(await routeOver2({ ':authority': 'API.example.test:443' })).toBe(API);
    expect(await routeOver2({ ':authority': 'x.example.test' })).toBe('*.example.test/api/**');
    expect(await routeOver2({ ':authority': 'elsewhere.test' })).toBe('/api/health');
    expect(await routeOver2({ ':authority': 'elsewhere.test', 'x-forwarded-host': 'api.example.test' })).toBe(
      '/api/health',
    );
  });

  const pseudo: [string, string][] = [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', '/admin'],
  ];

  test('are chosen by Host where there is no :authority', async () => {
    const front = await start();
    const client = await (await connectFrames(front.gateway.port)).begin();
    await client.send(headers(1, [...pseudo, ['host', 'admin.example.test']]));
    expect(await client.status(1)).toBe(200);
  });

  test('refuse what names another host than its :authority, or none', async () => {
    const front = await start();
    for (const [what, authority, hosts] of [
      ['a Host that is not the :authority', 'api.example.test', ['admin.example.test']],
      ['a Host with another port', 'admin.example.test', ['admin.example.test:80']],
      ['a Host with a dot more', 'admin.example.test', ['admin.example.test.']],
      ['two Hosts', 'admin.example.test', ['admin.example.test', 'api.example.test']],
      ['a user in :authority', 'u@admin.example.test', []],
      ['an empty label in :authority', 'admin..example.test', []],
    ] as const) {
      const client = await (await connectFrames(front.gateway.port)).begin();
      const fields = hosts.map((host): [string, string] => ['host', host]);
      await client.send(headers(1, [...pseudo, [':authority', authority], ...fields]));
      const isOver = () =>
        client.closed || client.frames.some(({ stream, type }) => stream === 1 || type === TYPE.goaway);
      await waitFor(`the gateway refuses ${what}`, isOver);
    }
    expect(front.upstream.requests).toEqual([]);
  });
});

test('two routes of one path on two hosts have metrics and limits of their own', async () => {
  const upstream = await startUpstream();
  const limits = await tempText(
    'limits.yaml',
    `
global: off
buckets: { a: { address: 1/60s }, b: { address: 2/60s } }
routes: { GET a.test/x: a, "GET *.test/x": b }
`,
  );
  const route = { path: '/x', upstream: 'api', authentication: 'none' };
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: {
      limits,
      routes: [
        { ...route, hosts: ['a.test'] },
        { ...route, hosts: ['b.test'] },
      ],
    },
  });
  const statuses = async (host: string) => {
    const answers = [];
    for (let i = 0; i < 3; i++)
      answers.push((await gateway.ask(`GET /x HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).status);
    return answers;
  };
  expect(await statuses('a.test')).toEqual([200, 429, 429]);
  expect(await statuses('b.test')).toEqual([200, 200, 429]);
  const counted = [...(await gateway.counted('weir_requests_total')).keys()].join('\n');
  expect(counted).toContain('route="a.test/x"');
  expect(counted).toContain('route="b.test/x"');
});
