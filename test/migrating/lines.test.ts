import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startNginx } from '../support/balancers.ts';
import type { LocalGateway } from '../support/gateway.ts';
import { atEnd } from '../support/lifetime.ts';
import { rowsOf, startFile } from '../support/migrating.ts';
import { v1 } from '../support/proxy-header.ts';
import { agreementToHead, handshake, startRawUpstream } from '../support/raw-web-sockets.ts';
import { head, withBody } from '../support/requests.ts';
import { tempFolder } from '../support/temp.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { AUTHORITY, writeIdentity } from '../support/tls-gateway.ts';
import { waitFor } from '../support/wait.ts';
import {
  type CaptureUpstream,
  type ConnectOptions,
  connectRaw,
  type RawClient,
  type Response,
  type Script,
  startUpstream,
  values,
} from '../support/wire/index.ts';

/**
 * What both gateways are told. `ONE` and `TWO` become the ports of the services, `DEAD` one where nobody listens, `DIR` a folder with
 * certificates, and `PORT` that of nginx.
 */
interface Files {
  /** What stands beside the server. */
  readonly http?: string;
  readonly listen?: string;
  readonly server: string;
  /** gateway.yaml, to which `listen` and the upstreams `one` and `two` are added where it has none. */
  readonly weir: string;
  readonly limits?: string;
  readonly script?: Script;
  readonly prepare?: (dir: string) => Promise<unknown>;
}

interface World {
  readonly services: readonly CaptureUpstream[];
  readonly nginx: number;
  readonly weir: LocalGateway;
  readonly dir: string;
}

type Ask = readonly [line: string, ...fields: string[]];

const SEEN = ['location', 'x-frame-options', 'x-powered-by', 'set-cookie', 'access-control-allow-origin'];
const SENT = [
  'host',
  'x-real-ip',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-plan',
  'cookie',
  'x-auth-subject',
];
const PASS = 'proxy_pass http://127.0.0.1:ONE;';
/** A block that sets a field inherits none. */
const HOST = 'proxy_set_header Host $host;';
const route = (path: string, keys = 'upstream: one') =>
  `  - { path: ${path}, authentication: none, ${keys} }\n`;
const ALL = `routes:\n${route('/**')}`;
/** Both services in one block of nginx. */
const both = (first: string, one = '', two = '') =>
  `upstream api { ${first} server 127.0.0.1:ONE ${one}; server 127.0.0.1:TWO ${two}; }`;
const ONE = 'http://127.0.0.1:ONE';
const TWO = 'http://127.0.0.1:TWO';
const app = (keys: string) => `upstreams: { app: { ${keys} } }\nroutes:\n${route('/**', 'upstream: app')}`;

/** Answers, with a redirect to itself where it is asked for one; `/hang` is never answered. */
const service: Script = async exchange => {
  const { target, fields } = exchange.request;
  await exchange.received();
  if (target.includes('hang')) return exchange.gone;
  const to = target.includes('login') ? ['Location', `http://${values(fields, 'host')[0]}/login/`] : [];
  return exchange.answer(to.length > 0 ? 302 : 200, ['X-Powered-By', 'x', ...to], 'ok');
};

async function world(files: Files): Promise<World> {
  const {
    http = '',
    listen = 'listen 127.0.0.1:PORT;',
    server,
    weir,
    limits = null,
    script = service,
  } = files;
  const dir = await tempFolder();
  await writeIdentity(dir, 'a', AUTHORITY.forHosts('localhost', 'gateway.test'));
  await writeFile(join(dir, 'ca.pem'), AUTHORITY.certificate);
  await files.prepare?.(dir);
  const services = [await startUpstream(script), await startUpstream(script)];
  const dead = await startUpstream();
  const [one, two, none] = [...services, dead].map(({ port }) => String(port)) as [string, string, string];
  dead.close();
  const filled = (text: string) =>
    text.replaceAll('ONE', one).replaceAll('TWO', two).replaceAll('DEAD', none).replaceAll('DIR', dir);
  const section = `http {
  proxy_http_version 1.1;
  ${HOST}
  ${http}
  server { ${listen} server_name gateway.test; ${server} }
}`;
  const nginx = await startNginx(port => filled(section).replaceAll('PORT', String(port)));
  const parts = [
    weir.includes('listen:') ? '' : 'listen: { http: "127.0.0.1:0", admin: off }\n',
    weir.includes('upstreams:') ? '' : `upstreams: { one: { url: "${ONE}" }, two: { url: "${TWO}" } }\n`,
    limits === null ? '' : 'limits: limits.yaml\n',
  ];
  return { dir, services, nginx, weir: await startFile(filled(parts.join('') + weir), limits) };
}

/** What a client and its services see of a request, as far as both gateways have to agree. */
async function outcome({ services }: World, answer: () => Promise<Response>) {
  const before = services.map(({ requests }) => requests.length);
  const { status, fields, body } = await answer();
  const sent = services.map(({ requests }, at) =>
    requests
      .slice(before[at])
      .map(each => [each.method, each.target, SENT.map(name => values(each.fields, name))]),
  );
  const seen = SEEN.map(name => values(fields, name)).map(each =>
    each.map(text => text.replace(/^https?:\/\/(?:gateway\.test|127\.0\.0\.1)(:\d+)?/, '')),
  );
  // Pages of errors are the gateway's own.
  return { status, seen, body: status < 300 ? body.toString() : null, sent };
}

/** Sends a request on a connection of its own. */
async function ask(port: number, bytes: string, options?: ConnectOptions, first?: Buffer): Promise<Response> {
  const client = await connectRaw(port, options);
  if (first !== undefined) await client.send(first);
  const answer = await client.ask(bytes);
  client.destroy();
  return answer;
}

/** That both see the same; returns it. */
async function agreed(here: World, how: (port: number) => Promise<Response>) {
  const found = await outcome(here, () => how(here.weir.port));
  expect(found).toEqual(await outcome(here, () => how(here.nginx)));
  return found;
}

/** The same for these requests; returns what is seen of each. */
async function same(files: Files, ...asks: readonly Ask[]) {
  const here = await world(files);
  const all = [];
  for (const [line, ...fields] of asks)
    all.push(await agreed(here, port => ask(port, head(line, ...fields))));
  return all;
}

type Outcomes = Awaited<ReturnType<typeof same>>;

const statuses = (outcomes: Outcomes) => outcomes.map(({ status }) => status);
/** Which service got each request: -1 for none. */
const places = (outcomes: Outcomes) => outcomes.map(({ sent }) => sent.findIndex(each => each.length > 0));
const targets = (outcomes: Outcomes) => outcomes.map(({ sent }) => sent.flat()[0]?.[1]);
const times = (count: number, line: string, ...fields: string[]): Ask[] =>
  Array.from({ length: count }, () => [line, ...fields] as const);

/** That both spread requests alike: over the services that the test expects. */
async function spread(files: Files, expected: readonly number[], ...asks: readonly Ask[]): Promise<void> {
  const here = await world(files);
  for (const port of [here.nginx, here.weir.port]) {
    const found = new Set<number>();
    for (const [line, ...fields] of asks) {
      const { status, sent } = await outcome(here, () => ask(port, head(line, ...fields)));
      expect(status).toBe(200);
      found.add(sent.findIndex(each => each.length > 0));
    }
    expect([...found].sort()).toEqual(expected);
  }
}

/** That both answer with this status once the client or the service is late. */
async function late(files: Files, bytes: string, status: (port: 'nginx' | 'weir') => number): Promise<void> {
  const here = await world(files);
  const open = async (port: number) => {
    const client = await connectRaw(port);
    await client.send(bytes);
    return client;
  };
  const ended = ({ received, end }: RawClient) => received.length > 0 || end !== null;
  const [weir, nginx] = [await open(here.weir.port), await open(here.nginx)];
  await here.weir.time.advanceUntil('it gives up', () => ended(weir), 100);
  await waitFor('nginx gives up', () => ended(nginx));
  expect(weir.received.toString()).toContain(`HTTP/1.1 ${status('weir')} `);
  if (status('nginx') > 0) expect(nginx.received.toString()).toContain(`HTTP/1.1 ${status('nginx')} `);
}

async function listening(server: Server, at: string | number): Promise<void> {
  server.listen(at);
  await once(server, 'listening');
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
}

/** By the first cell of its line. */
const LINES: Readonly<Record<string, () => Promise<void>>> = {
  'location: the longest prefix or the first regular expression wins': async () => {
    const seen = await same(
      {
        server: `location /a/ { ${PASS} } location /a/b/ { proxy_pass ${TWO}; }`,
        weir: `routes:\n${route('/a/**')}${route('/a/b/**', 'upstream: two')}`,
      },
      ...([['GET /a/x'], ['GET /a/b/x?y'], ['GET /a/bc'], ['GET /b']] as const),
    );
    expect(places(seen)).toEqual([0, 1, 0, -1]);
  },
  'location = /x': async () => {
    const seen = await same(
      { server: `location = /x { ${PASS} }`, weir: `routes:\n${route('/x')}` },
      ...([['GET /x?y'], ['GET /x/y'], ['GET /xy']] as const),
    );
    expect(statuses(seen)).toEqual([200, 404, 404]);
  },
  'limit_req_zone, limit_req': async () => {
    const seen = await same(
      {
        http: 'limit_req_zone $binary_remote_addr zone=caller:1m rate=1r/m; limit_req_status 429;',
        server: `location / { limit_req zone=caller burst=2 nodelay; ${PASS} }`,
        weir: ALL,
        limits: 'buckets: { caller: { address: 3/3m, algorithm: smooth } }\nroutes: { /**: caller }\n',
      },
      ...times(5, 'GET /a'),
    );
    expect(statuses(seen)).toEqual([200, 200, 200, 429, 429]);
  },
  auth_request: async () => {
    const issuer = await startIssuer();
    const bearer = issuer.bearer();
    const checks = createServer(({ headers }, answer) => {
      answer.statusCode = `Authorization: ${headers.authorization}` === bearer ? 200 : 401;
      answer.setHeader('X-Subject', 'alice').end();
    });
    const dir = await tempFolder();
    await listening(checks, join(dir, 'auth.sock'));
    const seen = await same(
      {
        server: `location / { auth_request /token; auth_request_set $subject $upstream_http_x_subject;
proxy_set_header X-Auth-Subject $subject; ${HOST} ${PASS} }
location = /token { internal; proxy_pass http://unix:${dir}/auth.sock; }`,
        weir: `identity_provider: { issuer: "${issuer.url}" }
access_tokens: { audience: api, identity_headers: { X-Auth-Subject: sub } }
routes: [{ path: /**, upstream: one, authentication: required }]\n`,
      },
      ['GET /a', bearer, 'X-Auth-Subject: mallory'],
      ['GET /a'],
      ['GET /a', `${bearer}x`],
    );
    expect(statuses(seen)).toEqual([200, 401, 401]);
    expect(JSON.stringify(seen[0])).toContain('alice');
  },
  set_real_ip_from: async () => {
    const seen = await same(
      {
        server: `set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For; proxy_set_header X-Real-IP $remote_addr; ${HOST} ${slash()}`,
        weir: `trusted_proxies: [127.0.0.1]\nforwarding_headers: { send: [X-Real-IP] }\n${ALL}`,
      },
      ['GET /a', 'X-Forwarded-For: 198.51.100.1, 203.0.113.9'],
      ['GET /a'],
    );
    expect(seen.map(({ sent }) => JSON.stringify(sent).includes('203.0.113.9'))).toEqual([true, false]);
  },
  'listen 8080 proxy_protocol': async () => {
    const here = await world({
      listen: 'listen 127.0.0.1:PORT proxy_protocol;',
      server: `set_real_ip_from 127.0.0.1; real_ip_header proxy_protocol; proxy_set_header X-Real-IP $remote_addr; ${HOST} ${slash()}`,
      weir: `listen: { http: { address: "127.0.0.1:0", proxy_protocol: true }, admin: off }
trusted_proxies: [127.0.0.1]\nforwarding_headers: { send: [X-Real-IP] }\n${ALL}`,
    });
    const header = v1('TCP4 203.0.113.9 198.51.100.1 56324 443');
    const found = await agreed(here, port => ask(port, head('GET /a'), {}, header));
    expect(JSON.stringify(found.sent)).toContain('203.0.113.9');
  },
  'client_max_body_size (default 1 MiB)': async () => {
    const here = await world({
      server: `client_max_body_size 1k; ${slash()}`,
      weir: `routes:\n${route('/**', 'upstream: one, max_body: 1KiB')}`,
    });
    for (const [length, status] of [
      [1_024, 200],
      [1_025, 413],
    ] as const)
      expect((await agreed(here, port => ask(port, withBody('POST /a', 'x'.repeat(length))))).status).toBe(
        status,
      );
    const plain = await world({ server: slash(), weir: ALL });
    const mebibyte = withBody('POST /a', 'x'.repeat(1_048_577));
    expect((await ask(plain.nginx, mebibyte)).status).toBe(413);
    expect((await ask(plain.weir.port, mebibyte)).status).toBe(200);
  },
  proxy_read_timeout: () =>
    late(
      {
        server: `proxy_read_timeout 100ms; ${slash()}`,
        weir: app(`url: "${ONE}", timeouts: { first_byte: 100ms, idle: 100ms }`),
      },
      head('GET /hang'),
      () => 504,
    ),
  'client_header_timeout, client_body_timeout, keepalive_timeout': () =>
    late(
      {
        server: `client_body_timeout 100ms; ${slash()}`,
        weir: `timeouts: { client_header: 100ms, client_body: 100ms, keep_alive: 100ms }\n${ALL}`,
      },
      `${head('POST /a', 'Content-Length: 5')}hell`,
      // nginx closes without a word.
      port => (port === 'weir' ? 408 : 0),
    ),
  large_client_header_buffers: async () => {
    const here = await world({ server: slash(), weir: ALL });
    const long = head('GET /a', `X-Long: ${'x'.repeat(40_000)}`);
    expect((await ask(here.nginx, long)).status).toBe(400);
    expect((await ask(here.weir.port, long)).status).toBe(431);
  },
  keepalive: async () => {
    const here = await world({
      http: 'upstream api { server 127.0.0.1:ONE; keepalive 4; } upstream other { server 127.0.0.1:TWO; keepalive 4; }',
      server: 'proxy_set_header Connection ""; location / { proxy_pass http://api; }',
      weir: `upstreams: { two: { url: "${TWO}", keep_alive: 60s } }\nroutes:\n${route('/**', 'upstream: two')}`,
    });
    for (let i = 0; i < 3; i++)
      for (const port of [here.nginx, here.weir.port]) await ask(port, head('GET /a'));
    expect(here.services.map(({ connections }) => connections.length)).toEqual([1, 1]);
    const each = await world({ server: slash(), weir: app(`url: "${TWO}", keep_alive: off`) });
    for (let i = 0; i < 3; i++)
      for (const port of [each.nginx, each.weir.port]) await ask(port, head('GET /a'));
    expect(each.services.map(({ connections }) => connections.length)).toEqual([3, 3]);
  },
  proxy_next_upstream: () =>
    spread(
      {
        http: 'upstream api { server 127.0.0.1:DEAD; server 127.0.0.1:ONE; }',
        server: 'location / { proxy_pass http://api; }',
        weir: app(`urls: ["http://127.0.0.1:DEAD", "${ONE}"]`),
      },
      [0],
      ...times(10, 'POST /a', 'Content-Length: 0'),
    ),
  'Expect: 100-continue, which nginx answers': async () => {
    const here = await world({ server: slash(), weir: ALL });
    for (const port of [here.nginx, here.weir.port]) {
      const client = await connectRaw(port);
      await client.send(head('POST /a', 'Expect: 100-continue', 'Content-Length: 5'));
      await waitFor('it says 100', () => client.received.includes('HTTP/1.1 100 '));
      await client.send('hello');
      expect((await client.answer()).status).toBe(200);
    }
  },
  'line ends without CR from a service, which nginx takes': async () => {
    const careless: Script = async exchange => {
      await exchange.received();
      await exchange.send('HTTP/1.1 200 OK\nContent-Length: 2\n\nok');
    };
    const here = await world({
      server: slash(),
      weir: app(`url: "${ONE}", lenient: true`),
      script: careless,
    });
    expect((await agreed(here, port => ask(port, head('GET /a')))).status).toBe(200);
    const strict = await world({ server: slash(), weir: ALL, script: careless });
    expect((await ask(strict.weir.port, head('GET /a'))).status).toBe(502);
  },
  'X-RateLimit-* of a service, which pass': async () => {
    const limited: Script = async exchange => {
      await exchange.received();
      await exchange.answer(200, ['X-RateLimit-Limit', '3'], 'ok');
    };
    const weir = `routes:\n${route('/**', 'upstream: one, rate_limit_headers: service')}`;
    const here = await world({ server: slash(), weir, limits: 'global: off\n', script: limited });
    for (const port of [here.nginx, here.weir.port])
      expect(values((await ask(port, head('GET /a'))).fields, 'x-ratelimit-limit')).toEqual(['3']);
  },
  'a token from $arg_access_token or $cookie_api_token': async () => {
    const issuer = await startIssuer();
    const token = issuer.token();
    const here = await world({
      server: `proxy_set_header Authorization "Bearer $arg_access_token$cookie_api_token"; ${HOST} ${slash()}`,
      weir: `identity_provider: { issuer: "${issuer.url}" }
access_tokens: { audience: api }
routes: [{ path: /**, upstream: one, token_from: [{ query: access_token }, { cookie: api_token }] }]\n`,
    });
    for (const port of [here.nginx, here.weir.port]) {
      expect((await ask(port, head(`GET /a?access_token=${token}`))).status).toBe(200);
      const cookie = [`Cookie: api_token=${token}`, 'Sec-Fetch-Site: same-origin'];
      expect((await ask(port, head('GET /a', ...cookie))).status).toBe(200);
    }
    const [service] = here.services;
    expect(service?.requests.map(({ fields }) => values(fields, 'authorization'))).toEqual(
      Array(4).fill([`Bearer ${token}`]),
    );
  },
  'access_log with $request_uri': async () => {
    const here = await world({
      http: 'log_format uri "$request_uri";',
      server: `access_log DIR/access.log uri; ${slash()}`,
      weir: `log: { level: info, paths: plain }\n${ALL}`,
    });
    for (const port of [here.nginx, here.weir.port]) await ask(port, head('GET /orders/7'));
    await expect.poll(() => readFile(join(here.dir, 'access.log'), 'utf8')).toBe('/orders/7\n');
    await expect.poll(() => here.weir.logLines.join()).toContain('"path":"/orders/7"');
  },
  server_name: async () => {
    const here = await world({
      server: slash(),
      weir: `routes:\n${route('/**', 'upstream: one, hosts: [gateway.test]')}`,
    });
    await agreed(here, port => ask(port, head('GET /a')));
    const other = head('GET /a').replace('gateway.test', 'other.test');
    expect((await ask(here.nginx, other)).status).toBe(200);
    expect((await ask(here.weir.port, other)).status).toBe(404);
  },
  'listen unix:/run/weir.sock': async () => {
    const here = await world({
      listen: 'listen 127.0.0.1:PORT; listen unix:DIR/nginx.sock;',
      server: `proxy_set_header X-Real-IP $http_x_forwarded_for; ${slash()}`,
      weir: `listen: { http: "unix:DIR/weir.sock", admin: off }
trusted_proxies: [unix]\nforwarding_headers: { send: [X-Real-IP] }\n${ALL}`,
    });
    for (const name of ['nginx.sock', 'weir.sock']) {
      const headers = { host: 'gateway.test', 'x-forwarded-for': '203.0.113.9' };
      const sent = request({ socketPath: join(here.dir, name), path: '/a', headers }).end();
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      expect(answer.resume().statusCode, name).toBe(200);
    }
    for (const { fields } of here.services[0]?.requests ?? [])
      expect(values(fields, 'x-real-ip')).toEqual(['203.0.113.9']);
  },
  'server unix:/run/app.sock in upstream': async () => {
    const answers = createServer((asked, answer) => void answer.end(`${asked.method} ${asked.url}`));
    const [seen] = await same(
      {
        prepare: dir => listening(answers, join(dir, 'app.sock')),
        http: 'upstream app { server unix:DIR/app.sock; }',
        server: 'location / { proxy_pass http://app; }',
        weir: app('url: unix:DIR/app.sock'),
      },
      ['GET /a?b'],
    );
    expect(seen?.body).toBe('GET /a?b');
  },
  'location /api/ with proxy_pass http://api/;': async () => {
    const seen = await same(
      {
        server: `location /api/ { proxy_pass ${ONE}/; }`,
        weir: `routes:\n${route('/api/**', 'upstream: one, strip_prefix: /api')}`,
      },
      ...([['GET /api/a/b?c'], ['GET /api/'], ['GET /other']] as const),
    );
    expect(targets(seen)).toEqual(['/a/b?c', '/', undefined]);
  },
  'proxy_pass http://api/base/;': async () => {
    const seen = await same(
      { server: `location / { proxy_pass ${ONE}/base/; }`, weir: app(`url: "${ONE}/base"`) },
      ...([['GET /a?b'], ['GET /']] as const),
    );
    expect(targets(seen)).toEqual(['/base/a?b', '/base/']);
  },
  proxy_redirect: async () => {
    const [seen] = await same(
      {
        server: `proxy_set_header Host $proxy_host; location /app/ { proxy_pass ${ONE}/; }`,
        weir: `upstreams: { one: { url: "${ONE}", host: upstream } }
routes:\n${route('/app/**', 'upstream: one, strip_prefix: /app, rewrite_location: true')}`,
      },
      ['GET /app/login'],
    );
    expect(seen?.seen[0]).toEqual(['/app/login/']);
  },
  'several server lines in upstream, weight, least_conn, max_fails': () =>
    spread(
      {
        http: `upstream api { least_conn; server 127.0.0.1:DEAD max_fails=1; server 127.0.0.1:ONE weight=2; server 127.0.0.1:TWO; }`,
        server: 'location / { proxy_pass http://api; }',
        weir: app(`urls: ["http://127.0.0.1:DEAD", { url: "${ONE}", weight: 2 }, "${TWO}"]`),
      },
      [0, 1],
      ...times(40, 'GET /a'),
    ),
  'proxy_request_buffering (default on)': async () => {
    const here = await world({ server: slash(), weir: app(`url: "${TWO}", buffer_body: 1MiB`) });
    const slow = async (port: number) => {
      const client = await connectRaw(port);
      await client.send(`${head('POST /a', 'Content-Length: 10')}hello`);
      return client;
    };
    const clients = [await slow(here.nginx), await slow(here.weir.port)];
    // Both answer another client meanwhile, so they have read what there is.
    const others = await Promise.all([here.nginx, here.weir.port].map(port => ask(port, head('GET /b'))));
    expect(others.map(({ status }) => status)).toEqual([200, 200]);
    const posts = () =>
      here.services.map(({ requests }) => requests.filter(({ method }) => method === 'POST').length);
    expect(posts()).toEqual([0, 0]);
    for (const client of clients) {
      await client.send('world');
      expect((await client.answer()).status).toBe(200);
    }
    expect(posts()).toEqual([1, 1]);
  },
  'proxy_buffering off': async () => {
    const here = await world({
      server: `proxy_buffering off; ${slash()}`,
      weir: ALL,
      script: async exchange => {
        await exchange.received();
        await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello');
        await exchange.gone;
      },
    });
    for (const port of [here.nginx, here.weir.port]) {
      const client = await connectRaw(port);
      await client.send(head('GET /a'));
      await waitFor('what came so far is there', () => client.received.includes('hello'));
      client.destroy();
    }
  },
  'server ... backup': () =>
    spread(
      {
        http: both('', '', 'backup'),
        server: 'location / { proxy_pass http://api; }',
        weir: app(`urls: ["${ONE}", { url: "${TWO}", backup: true }]`),
      },
      [0],
      ...times(20, 'GET /a'),
    ),
  'hash $remote_addr consistent, ip_hash': async () => {
    const here = await world({
      http: both('hash $remote_addr consistent;'),
      server: `set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For; location / { proxy_pass http://api; }`,
      weir: `trusted_proxies: [127.0.0.1]\n${app(`urls: ["${ONE}", "${TWO}"], balance: caller`)}`,
    });
    for (const port of [here.nginx, here.weir.port]) {
      const found = new Set<string>();
      for (let i = 0; i < 20; i++)
        for (let again = 0; again < 2; again++) {
          const { sent } = await outcome(here, () =>
            ask(port, head('GET /a', `X-Forwarded-For: 203.0.113.${i}`)),
          );
          found.add(`${i} ${sent.findIndex(each => each.length > 0)}`);
        }
      expect(found.size).toBe(20);
      expect(new Set([...found].map(each => each.at(-1))).size).toBe(2);
    }
  },
  'sticky cookie': async () => {
    // Only nginx Plus had it in 1.22.
    const files = {
      http: both('sticky cookie node;'),
      server: 'location / { proxy_pass http://api; }',
      weir: ALL,
    };
    await expect(world(files)).rejects.toThrow('unknown directive "sticky"');
    const { weir } = await world({
      server: slash(),
      weir: app(`urls: ["${ONE}", "${TWO}"], balance: { cookie: node, key_file: DIR/a.key }`),
    });
    expect(values((await ask(weir.port, head('GET /a'))).fields, 'set-cookie')[0]).toMatch(/^node=/);
  },
  'proxy_set_header, proxy_hide_header, add_header ... always': async () => {
    const [seen] = await same(
      {
        server: `proxy_set_header X-Plan gold; proxy_set_header Cookie ""; ${HOST}
proxy_hide_header X-Powered-By; add_header X-Frame-Options DENY always; ${slash()}`,
        weir: `routes:\n${route(
          '/**',
          `upstream: one, request_headers: { set: { X-Plan: gold }, remove: [Cookie] },
    response_headers: { set: { X-Frame-Options: DENY }, remove: [X-Powered-By] }`,
        )}`,
      },
      ['GET /a', 'X-Plan: forged', 'Cookie: a=b'],
    );
    expect(seen?.seen).toEqual([[], ['DENY'], [], [], []]);
  },
  'proxy_set_header Host $host': async () => {
    const [seen] = await same({ server: slash(), weir: ALL }, ['GET /a']);
    expect(JSON.stringify(seen)).toContain('"gateway.test"');
    const own = {
      server: `proxy_set_header Host $proxy_host; ${slash()}`,
      weir: app(`url: "${ONE}", host: upstream`),
    };
    expect(JSON.stringify(await same(own, ['GET /a']))).toMatch(/"127\.0\.0\.1:\d+"/);
  },
  'proxy_set_header Upgrade $http_upgrade with Connection "upgrade"': async () => {
    const raw = await startRawUpstream(
      ({ socket, head: asked }) => void socket.write(agreementToHead(asked), 'latin1'),
    );
    const here = await world({
      server: `location / { proxy_pass http://127.0.0.1:${raw.port}; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade"; }`,
      weir: `upstreams: { one: { url: "http://127.0.0.1:${raw.port}" } }\nroutes:\n${route('/**', 'upstream: one, websocket: true')}`,
    });
    for (const port of [here.nginx, here.weir.port]) {
      const client = await connectRaw(port);
      expect((await client.ask(handshake('/live'))).status).toBe(101);
    }
  },
  'limit_except GET { deny all; }': async () => {
    const here = await world({
      server: `location / { limit_except GET { deny all; } ${PASS} }`,
      weir: `routes:\n${route('/**', 'upstream: one, methods: [GET, HEAD]')}`,
    });
    for (const line of ['GET /a', 'HEAD /a'])
      expect((await agreed(here, port => ask(port, head(line)))).status).toBe(200);
    expect((await ask(here.nginx, withBody('POST /a', ''))).status).toBe(403);
    expect((await ask(here.weir.port, withBody('POST /a', ''))).status).toBe(404);
  },
  'return 301 https://example.com$request_uri': async () => {
    const seen = await same(
      {
        server: 'return 301 https://example.com$request_uri;',
        weir: 'routes: [{ path: /**, redirect: { to: "https://example.com{path}", status: 301 } }]\n',
      },
      ...([['GET /'], ['GET /a/b?c=%20'], ['POST /a/', 'Content-Length: 0'], ['GET /a?x=%2F/..']] as const),
    );
    expect(seen.map(each => each.seen[0])).toEqual(
      ['/', '/a/b?c=%20', '/a/', '/a?x=%2F/..'].map(path => [`https://example.com${path}`]),
    );
  },
  'return 200 "..."': async () => {
    const [seen] = await same(
      {
        server: 'location = /robots.txt { default_type text/plain; return 200 "User-agent: *\\n"; }',
        weir: 'routes: [{ path: /robots.txt, respond: { status: 200, body: "User-agent: *\\n" } }]\n',
      },
      ['GET /robots.txt'],
    );
    expect(seen?.body).toBe('User-agent: *\n');
  },
  'location = /app { return 308 /app/; }': async () => {
    const seen = await same(
      {
        server: `absolute_redirect off; location = /app { return 308 /app/$is_args$args; } location /app/ { ${PASS} }`,
        weir: `routes:\n${route('/app/', 'upstream: one, trailing_slash: redirect')}${route('/app/**')}`,
      },
      ...([['GET /app'], ['GET /app?x=1'], ['GET /app/'], ['GET /app/x']] as const),
    );
    expect(statuses(seen)).toEqual([308, 308, 200, 200]);
  },
  'location ~ ^/old/(.*)$ { return 301 /new/$1; }': async () => {
    const seen = await same(
      {
        server: 'absolute_redirect off; location ~ ^/old/(.*)$ { return 301 /new/$1$is_args$args; }',
        weir: 'routes: [{ path: /old/**, redirect: { to: "/new/{rest}", status: 301 } }]\n',
      },
      ...([['GET /old/a/b?x=1'], ['GET /old/'], ['GET /older']] as const),
    );
    expect(statuses(seen)).toEqual([301, 301, 404]);
  },
  'proxy_set_header X-Real-IP $remote_addr, X-Forwarded-Port, X-Forwarded-Prefix': async () => {
    const [seen] = await same(
      {
        server: `proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Forwarded-Port 80;
proxy_set_header X-Forwarded-Prefix /app; ${HOST} location /app/ { proxy_pass ${ONE}/; }`,
        weir: `forwarding_headers: { send: [X-Real-IP, X-Forwarded-Port, X-Forwarded-Prefix] }
routes:\n${route('/app/**', 'upstream: one, strip_prefix: /app')}`,
      },
      ['GET /app/a', 'X-Real-IP: 203.0.113.9', 'X-Forwarded-Port: 9', 'X-Forwarded-Prefix: /forged'],
    );
    expect(JSON.stringify(seen)).toContain('["127.0.0.1"],["80"],["/app"]');
  },
  'allow 10.0.0.0/8; deny all;': async () => {
    const from = (allowed: string) =>
      same(
        {
          server: `allow ${allowed}; deny all; ${slash()}`,
          weir: `routes:\n${route('/**', `upstream: one, networks: { allow: [${allowed}] }`)}`,
        },
        ['GET /a'],
      );
    expect(statuses(await from('10.0.0.0/8'))).toEqual([403]);
    expect(statuses(await from('127.0.0.0/8'))).toEqual([200]);
  },
  'error_page 404 /404.html': async () => {
    const here = await world({
      prepare: async dir => {
        await mkdir(join(dir, 'errors'));
        await writeFile(join(dir, 'errors/404.html'), '<p>nothing here</p>');
      },
      server: `root DIR/errors; error_page 404 /404.html; location /app/ { ${PASS} } location / { return 404; } location = /404.html { internal; }`,
      weir: `error_pages: DIR/errors\nroutes:\n${route('/app/**')}`,
    });
    for (const port of [here.nginx, here.weir.port]) {
      const { status, body } = await ask(port, head('GET /none', 'Accept: text/html'));
      expect([status, body.toString()]).toEqual([404, '<p>nothing here</p>']);
    }
  },
  'merge_slashes, on by default': async () => {
    const seen = await same(
      {
        server: `location /cut/ { proxy_pass ${ONE}/; }`,
        weir: `routes:\n${route('/cut/**', 'upstream: one, strip_prefix: /cut, empty_segments: merge')}`,
      },
      ...([['GET /cut//a'], ['GET //cut/a//b/'], ['GET /cut/a']] as const),
    );
    expect(targets(seen)).toEqual(['/a', '/a/b/', '/a']);
  },
  'directives of http or server that all locations inherit': async () => {
    const seen = await same(
      {
        http: 'add_header X-Frame-Options DENY always;',
        server: `location /a/ { ${PASS} } location /b/ { add_header X-Frame-Options SAMEORIGIN always; ${PASS} }`,
        weir: `defaults: { response_headers: { set: { X-Frame-Options: DENY } } }
routes:\n${route('/a/**')}${route('/b/**', 'upstream: one, response_headers: { set: { X-Frame-Options: SAMEORIGIN } }')}`,
      },
      ...([['GET /a/x'], ['GET /b/x']] as const),
    );
    expect(seen.map(each => each.seen[1])).toEqual([['DENY'], ['SAMEORIGIN']]);
  },
  split_clients: () =>
    spread(
      {
        http: `${both('').replace('api', 'unused')} split_clients $http_x_client $part { 95% 127.0.0.1:ONE; * 127.0.0.1:TWO; }`,
        server: 'location / { proxy_pass http://$part; }',
        weir: `trusted_proxies: [127.0.0.1]\nroutes:\n${route('/**', 'upstream: { one: 95, two: 5 }')}`,
      },
      [0, 1],
      ...Array.from(
        { length: 200 },
        (_, i) => ['GET /a', `X-Client: ${i}`, `X-Forwarded-For: 203.0.113.${i}`] as const,
      ),
    ),
  'listen 443 ssl, ssl_certificate, ssl_certificate_key': async () => {
    const here = await world({
      listen: 'listen 127.0.0.1:PORT ssl; ssl_certificate DIR/a.crt; ssl_certificate_key DIR/a.key;',
      server: slash(),
      weir: `listen:
  http: { address: "127.0.0.1:0", tls: { certificates: [{ certificate_file: DIR/a.crt, key_file: DIR/a.key }] } }
  admin: off\n${ALL}`,
    });
    const tls = { ca: AUTHORITY.certificate, servername: 'gateway.test' };
    expect((await agreed(here, port => ask(port, head('GET /a'), { tls }))).status).toBe(200);
  },
  'return 301 https://$host$request_uri at port 80': async () => {
    const here = await world({
      server: 'return 308 https://$host$request_uri;',
      weir: `listen:
  http: { address: "127.0.0.1:0", tls: { certificates: [{ certificate_file: DIR/a.crt, key_file: DIR/a.key }] } }
  redirect: { address: "127.0.0.1:0", port: 443 }
  admin: off\n${ALL}`,
    });
    const redirect = here.weir.app.addresses.redirect?.port ?? 0;
    const asked = async (port: number) => values((await ask(port, head('GET /a?b'))).fields, 'location');
    expect(await asked(redirect)).toEqual(['https://gateway.test/a?b']);
    expect(await asked(here.nginx)).toEqual(['https://gateway.test/a?b']);
  },
  'proxy_ssl_verify on, proxy_ssl_trusted_certificate': async () => {
    const identity = AUTHORITY.forHosts('localhost');
    const secure = createTlsServer(
      { cert: identity.certificate, key: identity.key },
      (_, answer) => void answer.end('tls'),
    );
    await listening(secure, 0);
    const at = secure.address();
    const url = `https://localhost:${typeof at === 'object' ? at?.port : 0}`;
    const verified = (ca: string, trusted: string) =>
      same(
        {
          server: `proxy_ssl_verify on; proxy_ssl_name localhost; proxy_ssl_trusted_certificate ${ca}; location / { proxy_pass ${url}; }`,
          weir: app(`url: "${url}"${trusted}`),
        },
        ['GET /a'],
      );
    expect((await verified('DIR/ca.pem', ', tls: { ca_file: DIR/ca.pem }'))[0]?.body).toBe('tls');
    expect(statuses(await verified('/etc/ssl/certs/ca-certificates.crt', ''))).toEqual([502]);
  },
  'add_header Access-Control-Allow-Origin, return 204 for OPTIONS, add_header Access-Control-Expose-Headers':
    async () => {
      const exposed: Script = async exchange => {
        await exchange.received();
        await exchange.answer(200, ['X-Total', '7'], 'ok');
      };
      const here = await world({
        server: `add_header Access-Control-Expose-Headers X-Total; ${slash()}`,
        weir: `cors: { origins: ["https://app.test"], expose_headers: [X-Total] }\n${ALL}`,
        script: exposed,
      });
      for (const port of [here.nginx, here.weir.port]) {
        const { fields } = await ask(port, head('GET /a', 'Origin: https://app.test'));
        expect(values(fields, 'access-control-expose-headers').join()).toMatch(/(?:^|, )X-Total$/);
      }
      const seen = await same(
        {
          server: `location / { add_header Access-Control-Allow-Origin https://app.test always; if ($request_method = OPTIONS) { return 204; } ${PASS} }`,
          weir: `cors: { origins: ["https://app.test"] }\n${ALL}`,
        },
        ['GET /a', 'Origin: https://app.test'],
        ['OPTIONS /a', 'Origin: https://app.test', 'Access-Control-Request-Method: PUT'],
      );
      expect(seen.map(each => [each.status, each.seen[4]])).toEqual([
        [200, ['https://app.test']],
        [204, ['https://app.test']],
      ]);
    },
};

function slash(): string {
  return `location / { ${PASS} }`;
}

const rows = rowsOf('nginx | Weir').filter(([, weir = '']) => !weir.startsWith('none'));

it('each line of the table is tried, except those for which there is nothing', () => {
  expect(rows.map(([nginx]) => nginx).sort()).toEqual(Object.keys(LINES).sort());
});

describe('what the table says of nginx and of Weir is so:', () => {
  it.each(Object.entries(LINES))('%s', async (_, run) => run());
});
