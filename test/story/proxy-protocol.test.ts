import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { changeConfig, changeLimits, serves } from '../support/edit-config.ts';
import { expectError } from '../support/error-object.ts';
import {
  type ConfigPart,
  type GatewaySettings,
  type LocalGateway,
  startGateway,
  withoutWorkers,
} from '../support/gateway.ts';
import { ask, connectHttp2 } from '../support/http2-client.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { LOCAL_V2, TCP4, TCP6, v1, v2 } from '../support/proxy-header.ts';
import { head } from '../support/requests.ts';
import { inTime } from '../support/test-clock.ts';
import { startTlsGateway } from '../support/tls-gateway.ts';
import { settled } from '../support/wait.ts';
import { type CaptureUpstream, type RawClient, startUpstream, values } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const listen = { http: { address: '127.0.0.1:0', proxy_protocol: true }, admin: '127.0.0.1:0' };

interface Front {
  readonly gateway: LocalGateway;
  readonly upstream: CaptureUpstream;
}

/** A gateway that demands a PROXY header from this host. */
async function front(config: ConfigPart = {}, settings: Partial<GatewaySettings> = {}): Promise<Front> {
  const upstream = await startUpstream();
  const log = { level: 'info', access: true };
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: { listen, trusted_proxies: ['127.0.0.1'], log, ...config },
    ...settings,
  });
  return { gateway, upstream };
}

/** The client that the access log names for the last request. */
function lastClient(gateway: LocalGateway): unknown {
  return accessLines(gateway).at(-1)?.client;
}

/** The client that the upstream was told of. */
function forwardedFor({ requests }: CaptureUpstream): readonly string[] {
  return values(requests.at(-1)?.fields ?? [], 'x-forwarded-for');
}

async function faults(gateway: LocalGateway): Promise<Record<string, number>> {
  return Object.fromEntries(await gateway.counted('weir_proxy_header_faults_total'));
}

describe('the client of a relayed connection is the one that its header names', () => {
  test.each([
    ['version 1', v1('TCP4 192.0.2.7 198.51.100.1 56324 443'), '192.0.2.7'],
    ['version 2 over IPv6', v2(TCP6('2001:db8::7')), '2001:db8::7'],
  ])('in the access log and towards the upstream (%s)', async (_, header, client) => {
    const { gateway, upstream } = await front();
    const response = await gateway.ask(Buffer.concat([header, Buffer.from(head('GET /a'))]));
    expect(response.status).toBe(200);
    expect(forwardedFor(upstream)).toEqual([client]);
    await expect.poll(() => lastClient(gateway)).toBe(client);
  });

  test('for every request of the connection, however its bytes are split', async () => {
    const { gateway, upstream } = await front();
    const client = await gateway.connect();
    const bytes = Buffer.concat([v2(TCP4('192.0.2.7')), Buffer.from(head('GET /a'))]);
    await client.sendSlowly(
      [...bytes].map(byte => Buffer.from([byte])),
      1,
    );
    expect((await client.answer()).status).toBe(200);
    expect((await client.ask(head('GET /b'))).status).toBe(200);
    expect(upstream.requests.map(({ target }) => target)).toEqual(['/a', '/b']);
    expect(forwardedFor(upstream)).toEqual(['192.0.2.7']);
  });

  test('for every stream of a connection over HTTP/2', async () => {
    const http = { ...listen.http, h2c: true };
    const { gateway, upstream } = await front({ listen: { ...listen, http } });
    const socket = connect(gateway.port, '127.0.0.1');
    socket.write(v2(TCP4('192.0.2.7')));
    const session = connectHttp2(gateway, { createConnection: () => socket });
    const paths = ['/a', '/b', '/c'];
    for (const { status } of await Promise.all(paths.map(path => ask(session, { ':path': path }))))
      expect(status).toBe(200);
    expect(upstream.requests.map(({ fields }) => values(fields, 'x-forwarded-for'))).toEqual(
      paths.map(() => ['192.0.2.7']),
    );
  });

  test('in the limits', async () => {
    const { gateway } = await front();
    await changeLimits(gateway, { global: { address: '2/60s' } });
    await serves(gateway, 2);
    const ask = (client: string) =>
      gateway.ask(Buffer.concat([v2(TCP4(client)), Buffer.from(head('GET /a'))]));
    const statuses = [];
    for (const client of ['192.0.2.7', '192.0.2.7', '192.0.2.7', '192.0.2.8'])
      statuses.push((await ask(client)).status);
    expect(statuses).toEqual([200, 200, 429, 200]);
  });
});

test('curl, which sends a header for itself, is served', async () => {
  const { gateway, upstream } = await front();
  const url = `http://127.0.0.1:${gateway.port}/a`;
  const curl = [
    '-sS',
    '--haproxy-protocol',
    '--interface',
    '127.0.0.9',
    '-o',
    '/dev/null',
    '-w',
    '%{http_code}',
    url,
  ];
  await changeConfig(gateway, { trusted_proxies: ['127.0.0.9'] });
  await serves(gateway, 2);
  const { stdout } = await promisify(execFile)('curl', curl);
  expect(stdout).toBe('200');
  expect(forwardedFor(upstream)).toEqual(['127.0.0.9']);
});

describe('a connection that is not relayed has its peer as client', () => {
  test.each([['LOCAL of version 2', LOCAL_V2]])('%s', async (_, header) => {
    const { gateway, upstream } = await front();
    const response = await gateway.ask(Buffer.concat([header, Buffer.from(head('GET /a'))]));
    expect(response.status).toBe(200);
    expect(forwardedFor(upstream)).toEqual(['127.0.0.1']);
  });
});

describe('X-Forwarded-For behind a header', () => {
  const forged = Buffer.from(head('GET /a', 'X-Forwarded-For: 203.0.113.9'));

  test.each([
    ['a client', v2(TCP4('192.0.2.7')), '192.0.2.7'],
    ['someone unknown', v1('UNKNOWN'), '127.0.0.1'],
  ])('is not believed of %s, although the balancer is trusted', async (_, header, client) => {
    const { gateway, upstream } = await front();
    await gateway.ask(Buffer.concat([header, forged]));
    expect(forwardedFor(upstream)).toEqual([client]);
    await expect.poll(() => lastClient(gateway)).toBe(client);
  });

  test('is believed of a proxy that is listed itself', async () => {
    const { gateway, upstream } = await front({ trusted_proxies: ['127.0.0.1', '192.0.2.7'] });
    await gateway.ask(Buffer.concat([v2(TCP4('192.0.2.7')), forged]));
    expect(forwardedFor(upstream)).toEqual(['203.0.113.9, 192.0.2.7']);
    await expect.poll(() => lastClient(gateway)).toBe('203.0.113.9');
  });
});

describe('a connection is closed without a word', () => {
  test.each([
    ['without a header', head('GET /a'), 'missing'],
    ['with a broken header', 'PROXY TCP4 192.0.2.7 198.51.100.1 56324\r\nGET / HTTP/1.1\r\n\r\n', 'broken'],
    ['with an endless header', `PROXY UNKNOWN ${'x'.repeat(200)}`, 'broken'],
  ])('%s', async (_, bytes, reason) => {
    const { gateway, upstream } = await front();
    const client = await gateway.connect();
    await client.send(bytes);
    await expectSilence(client);
    expect(await faults(gateway)).toEqual({ [`{reason="${reason}"}`]: 1 });
    expect(upstream.requests).toHaveLength(0);
  });

  test('that ends inside its header', async () => {
    const { gateway } = await front();
    const client = await gateway.connect();
    await client.send('PROXY TCP4 192.0.2.7');
    client.endSending();
    await expectSilence(client);
    expect(await faults(gateway)).toEqual({ '{reason="broken"}': 1 });
  });

  test('from a peer that is not a trusted proxy, before it sends a byte', async () => {
    const { gateway } = await front();
    const client = await gateway.connect({ localAddress: '127.0.0.2' });
    await expectSilence(client);
    expect(await faults(gateway)).toEqual({ '{reason="untrusted_peer"}': 1 });
  });

  test('whose header takes too long, counted from its begin', async () => {
    const clock = new FrozenClock();
    const { gateway } = await front({ timeouts: { client_header: '10s' } }, { clock });
    const client = await gateway.connect();
    const header = 'PROXY TCP4 192.0.2.7 198.51.100.1 56324 44';
    let sent = 0;
    const sendOne = async () => {
      if (sent < header.length) await client.send(header.charAt(sent++));
      return client.end !== null;
    };
    await clock.advanceUntil('the connection is cut', sendOne, 500);
    await expectSilence(client);
    expect(await faults(gateway)).toEqual({ '{reason="late"}': 1 });
  });

  test('and a health check that only opens and closes it is not counted', async () => {
    const { gateway } = await front();
    const client = await gateway.connect();
    client.endSending();
    await expectSilence(client);
    expect(await faults(gateway)).toEqual({});
  });

  test('and a health check that resets before it is accepted is not counted', async () => {
    // In this process, so that it can be held up until the reset is there.
    withoutWorkers();
    const { gateway } = await front();
    const check = `require('net').connect(${gateway.port}, '127.0.0.1', function () { this.resetAndDestroy() })`;
    execFileSync(process.execPath, ['-e', check]);
    expect(
      (await gateway.ask(Buffer.concat([v2(TCP4('192.0.2.7')), Buffer.from(head('GET /a'))]))).status,
    ).toBe(200);
    expect(await faults(gateway)).toEqual({});
  });

  test('with a line in the log for each reason, not for each connection', async () => {
    // Each worker writes a line of its own.
    withoutWorkers();
    const { gateway } = await front();
    for (let i = 0; i < 5; i++) {
      const client = await gateway.connect();
      await client.send('GET / HTTP/1.1\r\n');
      await expectSilence(client);
    }
    const lines = gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'proxy');
    expect(lines).toMatchObject([{ reason: 'missing', address: '127.0.0.1', connections: 1 }]);
  });
});

describe('connections are capped by the address that the header names', () => {
  test('and the balancer has no cap of its own', async () => {
    const { gateway } = await front({ caps: { connections_per_address: 2 } });
    const open = async (address: string): Promise<RawClient> => {
      const client = await gateway.connect();
      await client.send(v2(TCP4(address)));
      return client;
    };
    const [first] = [await open('192.0.2.7'), await open('192.0.2.7')];
    for (const address of ['192.0.2.8', '192.0.2.8', '192.0.2.9'])
      expect((await (await open(address)).ask(head('GET /a'))).status).toBe(200);
    expectError(await (await open('192.0.2.7')).answer(), 503, 14);
    // One that ends makes room for another.
    first.destroy();
    await expect.poll(async () => (await (await open('192.0.2.7')).ask(head('GET /a'))).status).toBe(200);
  });
});

test.each([
  ['over HTTP/1.1', '--http1.1', 'http1'],
  ['over HTTP/2', '--http2-prior-knowledge', 'h2'],
])('a header may stand before either version of HTTP (%s)', async (_, version, protocol) => {
  const http = { ...listen.http, h2c: true };
  const { gateway, upstream } = await front({ listen: { ...listen, http } });
  const url = `http://127.0.0.1:${gateway.port}/a`;
  const { stdout } = await promisify(execFile)('curl', ['-sS', version, '--haproxy-protocol', url]);
  expect(stdout).toBe('ok');
  expect(forwardedFor(upstream)).toEqual(['127.0.0.1']);
  await expect.poll(() => accessLines(gateway).at(-1)?.protocol).toBe(protocol);
});

describe('a header may stand before a TLS handshake', () => {
  const trusted = { config: { trusted_proxies: ['127.0.0.1'] } };
  const key = { proxy_protocol: true };

  test.each(['together with its first bytes', 'by itself'])('and comes %s', async how => {
    const { gateway, upstream } = await startTlsGateway({ ...trusted, listener: key });
    const socket = connect(gateway.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const header = v2(TCP4('192.0.2.7'));
    if (how === 'by itself') {
      socket.write(header);
      // Read by the gateway before anything follows.
      await settled(() => socket.bytesWritten);
    }
    const before = how === 'by itself' ? Buffer.alloc(0) : header;
    const client = connectTls({ socket: withFirst(socket, before), rejectUnauthorized: false });
    client.write(head('GET /a'));
    const [response] = await once(client, 'data');
    expect(String(response)).toMatch(/^HTTP\/1.1 200 /);
    expect(forwardedFor(upstream)).toEqual(['192.0.2.7']);
  });
});

/** The socket, with these bytes in front of the first ones that are written. */
function withFirst(socket: Socket, first: Buffer): Duplex {
  let before = first;
  const stream = new Duplex({
    read: () => {},
    write(bytes: Buffer, _, done) {
      socket.write(Buffer.concat([before, bytes]), () => done());
      before = Buffer.alloc(0);
    },
  });
  socket.on('data', bytes => stream.push(bytes));
  return stream;
}

test('a listener follows a reload that asks for a header', async () => {
  const { gateway } = await front({ listen: { http: '127.0.0.1:0', admin: '127.0.0.1:0' } });
  const old = await gateway.connect();
  expect((await old.ask(head('GET /a'))).status).toBe(200);
  await changeConfig(gateway, { listen });
  await serves(gateway, 2);
  expect((await old.ask(head('GET /a'))).status).toBe(200);
  const client = await gateway.connect();
  await client.send(head('GET /a'));
  await expectSilence(client);
  expect(
    (await gateway.ask(Buffer.concat([v2(TCP4('192.0.2.7')), Buffer.from(head('GET /a'))]))).status,
  ).toBe(200);
});

test('while draining, a connection without a header is not waited for, nor logged as late', async () => {
  const { gateway } = await front();
  const client = await gateway.connect();
  await expect.poll(async () => [...(await gateway.metric('weir_client_connections')).values()]).toEqual([1]);
  expect(await inTime(gateway.time, gateway.app.drain())).toBe(true);
  await expectSilence(client);
  expect(gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'proxy')).toEqual([]);
});

async function expectSilence(client: RawClient): Promise<void> {
  await expect.poll(() => client.end).not.toBeNull();
  expect(client.bytesRead).toBe(0);
}

test.each([
  [
    'a PROXY header of version 1',
    v1('TCP4 192.0.2.7 198.51.100.1 56324 443'),
    'a PROXY header on a listener without "proxy_protocol"',
  ],
  [
    'a PROXY header of version 2',
    v2(TCP4('192.0.2.7')),
    'a PROXY header on a listener without "proxy_protocol"',
  ],
  [
    'a TLS handshake',
    Buffer.from('16030100a5010000a10303', 'hex'),
    'a TLS handshake on a listener without "tls"',
  ],
  ['a folded field', Buffer.from(head('GET /', 'X-A: a', ' b')), 'a field over several lines'],
])('a listener in clear text says what came in place of a request: %s', async (_, bytes, why) => {
  const { gateway } = await front({ listen: { http: '127.0.0.1:0', admin: '127.0.0.1:0' } });
  const response = await gateway.ask(Buffer.concat([Buffer.from(bytes), Buffer.from(head('GET /'))]));
  expect(response.status).toBe(400);
  const { message } = JSON.parse(response.body.toString());
  expect(message).toBe(`Bad request: it is not valid HTTP/1.1 (${why}).`);
  expect(accessLines(gateway)[0]?.['error']).toBe(message);
});
