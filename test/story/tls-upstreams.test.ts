import { writeFile } from 'node:fs/promises';
import { createServer, type ServerOptions } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { TestAuthority } from '../support/certificates.ts';
import { replaceFile, serves } from '../support/edit-config.ts';
import { type ConfigPart, startGateway, withoutWorkers } from '../support/gateway.ts';
import { tempFolder } from '../support/temp.ts';
import { inTime } from '../support/test-clock.ts';
import { waitFor } from '../support/wait.ts';

const AUTHORITY = new TestAuthority();
const GET = 'GET /a HTTP/1.1\r\nHost: gateway.test\r\n\r\n';

/** What a service saw of a request's connection. */
interface Seen {
  readonly resumed: boolean;
  readonly serverName: string | false | null;
  readonly protocol: string | false | null;
  /** Common name of the gateway's certificate. */
  readonly client: unknown;
}

/** An https service of Node that closes each connection behind its response. */
async function startService(options: ServerOptions = {}) {
  const seen: Seen[] = [];
  const { certificate, key } = AUTHORITY.forHosts('127.0.0.1', 'api.test');
  const server = createServer({ cert: certificate, key, ...options }, (request, response) => {
    const socket = request.socket as TLSSocket & { readonly servername: string | false | null };
    seen.push({
      resumed: socket.isSessionReused(),
      serverName: socket.servername,
      protocol: socket.alpnProtocol,
      client: socket.getPeerCertificate()?.subject?.CN,
    });
    response.setHeader('Connection', 'close');
    response.end('secret');
  });
  return { seen, server, port: await listening(server) };
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A gateway before `https://127.0.0.1:PORT`, with `ca.crt` in its folder. */
async function startBefore(port: number, tls: ConfigPart = {}, api: ConfigPart = {}) {
  const folder = await tempFolder();
  const ca = join(folder, 'ca.crt');
  await writeFile(ca, AUTHORITY.certificate);
  const gateway = await startGateway({
    upstreamPort: port,
    api: { url: `https://127.0.0.1:${port}`, tls: { ca_file: ca, ...tls }, ...api },
    config: { log: { level: 'info', access: true } },
  });
  return { gateway, folder };
}

test('an https upstream is asked by name, and a later connection resumes its session', async () => {
  // Each worker has connections of its own, and their sessions.
  withoutWorkers();
  const { port, seen } = await startService();
  const { gateway } = await startBefore(port, { server_name: 'api.test' });
  for (const _ of [1, 2])
    expect(await gateway.ask(GET)).toMatchObject({ status: 200, body: Buffer.from('secret') });
  expect(seen).toEqual([
    { resumed: false, serverName: 'api.test', protocol: 'http/1.1', client: undefined },
    { resumed: true, serverName: 'api.test', protocol: 'http/1.1', client: undefined },
  ]);
});

test('a name with the dot of the root is asked for without it', async () => {
  const { port, seen } = await startService();
  const { gateway } = await startBefore(port, { server_name: 'api.test.' });
  expect((await gateway.ask(GET)).status).toBe(200);
  expect(seen[0]?.serverName).toBe('api.test');
});

test('an address is not sent as server name, and must be in the certificate', async () => {
  const { port, seen } = await startService();
  const { gateway } = await startBefore(port);
  expect((await gateway.ask(GET)).status).toBe(200);
  expect(seen[0]?.serverName).toBe(false);
});

test.each([
  [
    'of an unknown authority',
    () => new TestAuthority('another').forHosts('127.0.0.1'),
    {},
    'unable to verify the first certificate',
  ],
  ['for another name', () => AUTHORITY.forHosts('127.0.0.1'), { server_name: 'other.test' }, 'other.test'],
  ['that has expired', () => AUTHORITY.forHostsWith({ days: -1 }, '127.0.0.1'), {}, 'expired'],
])('a certificate %s gives 502 with the cause in the log', async (_, identity, tls, cause) => {
  const { certificate, key } = identity();
  const { port, seen } = await startService({ cert: certificate, key });
  const { gateway } = await startBefore(port, tls);
  expect((await gateway.ask(GET)).status).toBe(502);
  await waitFor('it is logged', () => gateway.logLines.some(line => line.includes(cause)));
  expect(seen).toEqual([]);
});

test('verify: false takes any certificate', async () => {
  const { certificate, key } = new TestAuthority('another').forHosts('other.test');
  const { port } = await startService({ cert: certificate, key });
  const { gateway } = await startBefore(port, { verify: false });
  expect((await gateway.ask(GET)).status).toBe(200);
});

test('a service that asks for a certificate gets that of the gateway, and the new one after its files changed', async () => {
  const { port, seen } = await startService({ requestCert: true, ca: AUTHORITY.certificate });
  const folder = await tempFolder();
  const put = async (name: string) => {
    const { certificate, key } = AUTHORITY.forClient(name);
    await replaceFile(join(folder, 'tls.key'), key);
    await replaceFile(join(folder, 'tls.crt'), certificate);
  };
  await put('weir-1');
  const files = { certificate_file: join(folder, 'tls.crt'), key_file: join(folder, 'tls.key') };
  const { gateway } = await startBefore(port, files);
  expect((await gateway.ask(GET)).status).toBe(200);
  await put('weir-2');
  await serves(gateway, 2);
  expect((await gateway.ask(GET)).status).toBe(200);
  expect(seen.map(({ client }) => client)).toEqual(['weir-1', 'weir-2']);
});

test('the connect timeout covers a stalled handshake', async () => {
  const sockets: Socket[] = [];
  const port = await listening(createTcpServer(socket => void sockets.push(socket)));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const { gateway } = await startBefore(port, {}, { timeouts: { connect: '300ms' } });
  const response = gateway.ask(GET);
  await expect.poll(() => sockets.length).toBe(1);
  expect((await inTime(gateway.time, response)).status).toBe(502);
  expect(gateway.logLines.join('')).toContain('the connect timed out');
});

test('bodies of megabytes pass both ways, byte for byte', async () => {
  const { certificate, key } = AUTHORITY.forHosts('127.0.0.1');
  const echo = createServer({ cert: certificate, key }, (request, response) => void request.pipe(response));
  const { gateway } = await startBefore(await listening(echo));
  const body = Buffer.alloc(8 << 20, 'Weir streams. ');
  const head = `POST /a HTTP/1.1\r\nHost: gateway.test\r\nContent-Length: ${body.length}\r\n\r\n`;
  const response = await gateway.ask(Buffer.concat([Buffer.from(head), body]));
  expect(Buffer.compare(response.body, body)).toBe(0);
  echo.closeAllConnections();
});
