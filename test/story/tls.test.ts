import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { LocalGateway } from '../support/gateway.ts';
import { withBody } from '../support/requests.ts';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';
import { waitFor } from '../support/wait.ts';
import { header, type RawClient, type Script } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const run = promisify(execFile);
const TRUST = { ca: AUTHORITY.certificate, servername: 'localhost' };
const GET = 'GET /a HTTP/1.1\r\nHost: gateway.test\r\n\r\n';

test('curl is served over TLS, and the upstream learns the scheme', async () => {
  const { gateway, upstream, folder } = await startTlsGateway();
  await writeFile(join(folder, 'ca.crt'), AUTHORITY.certificate);
  const url = `https://localhost:${gateway.port}/a`;
  const args = [
    '--cacert',
    join(folder, 'ca.crt'),
    '-sS',
    '--resolve',
    `localhost:${gateway.port}:127.0.0.1`,
  ];
  const { stdout } = await run('curl', [...args, url, url]);
  expect(stdout).toBe('okok');
  const schemes = upstream.requests.map(request => header(request, 'X-Forwarded-Proto'));
  expect(schemes).toEqual(['https', 'https']);
});

test('a further connection resumes the session of the first, over TLS 1.3 and 1.2', async () => {
  const { gateway } = await startTlsGateway();
  for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
    const tls = { ...TRUST, maxVersion };
    const first = await gateway.connect({ tls });
    expect((await first.ask(GET)).status).toBe(200);
    const second = await gateway.connect({ tls: { ...tls, session: first.tls.getSession() } });
    expect((await second.ask(GET)).status).toBe(200);
    expect([first.tls.isSessionReused(), second.tls.isSessionReused()]).toEqual([false, true]);
  }
  const outcomes = await gateway.metric('weir_tls_handshakes_total');
  expect(outcomes.get('{listener="http",outcome="full"}')).toBe(2);
  expect(outcomes.get('{listener="http",outcome="resumed"}')).toBe(2);
});

test('after a day the ticket keys have changed: an old session is not resumed, a newer one is', async () => {
  const clock = new FrozenClock(Date.now());
  const { gateway } = await startTlsGateway({ clock });
  const open = async (session?: Buffer) => {
    const client = await gateway.connect({ tls: { ...TRUST, ...(session && { session }) } });
    expect((await client.ask(GET)).status).toBe(200);
    return { session: client.tls.getSession(), isResumed: client.tls.isSessionReused() };
  };
  const old = await open();
  expect((await open(old.session)).isResumed).toBe(true);
  clock.advance(24 * 3_600_000);
  await waitFor('the keys change', async () => !(await open(old.session)).isResumed);
  expect((await open((await open()).session)).isResumed).toBe(true);
});

test('pipelined requests and a body of megabytes are answered in their order', async () => {
  const script: Script = async exchange => {
    await exchange.received();
    await exchange.answer(200, [], `${exchange.request.bodyBytes}`);
  };
  const { gateway } = await startTlsGateway({ script });
  const client = await gateway.connect({ tls: TRUST });
  const bodies = [3, 5 << 20, 0, 70_000];
  for (const bytes of bodies) void client.send(withBody('POST /a', 'x'.repeat(bytes)));
  for (const bytes of bodies) expect(String((await client.answer()).body)).toBe(`${bytes}`);
});

test('a client that closes its side still gets its response, and the end of TLS behind it', async () => {
  const { gateway } = await startTlsGateway();
  const client = await gateway.connect({ tls: TRUST });
  await client.send(GET);
  client.endSending();
  expect((await client.answer()).status).toBe(200);
  expect(await client.ended()).toBe('close');
});

test('a request cut off without the end of TLS does not go upstream as whole', async () => {
  const { gateway, upstream } = await startTlsGateway();
  const client = await gateway.connect({ tls: TRUST });
  await client.send(
    'POST /a HTTP/1.1\r\nHost: gateway.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n',
  );
  await waitFor('it goes upstream', () => upstream.requests.length === 1);
  client.truncate();
  await client.ended();
  await waitFor('it is broken off', () => upstream.openConnections.length === 0);
  expect(upstream.requests[0]?.complete).toBe(false);
});

test('a response that would end with its connection is broken off by a reset', async () => {
  const script: Script = async exchange => {
    await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
    await exchange.connection.destroy();
  };
  const { gateway } = await startTlsGateway({ script });
  const client = await gateway.connect({ tls: TRUST });
  const { complete, body } = await client.ask('GET /a HTTP/1.0\r\nHost: gateway.test\r\n\r\n');
  expect(String(body)).toBe('abc');
  expect(complete).toBe(false);
});

test('a client that reads nothing is disconnected, and one that reads slowly is not', async () => {
  const script: Script = exchange => exchange.answer(200, [], Buffer.alloc(8 << 20, 'x'));
  const { gateway } = await startTlsGateway({ script, config: { timeouts: { client_read: '1s' } } });
  const [idle, slow] = [await gateway.connect({ tls: TRUST }), await gateway.connect({ tls: TRUST })];
  idle.pause();
  void idle.send(GET);
  const answer = slow.ask(GET, { onData: () => pauseFor(slow, 5) });
  expect((await answer).bodyBytes).toBe(8 << 20);
  await gateway.time.advanceUntil('the idle one is gone', async () => (await openConnections(gateway)) === 1);
});

test('a broken record ends the connection', async () => {
  const { gateway } = await startTlsGateway();
  const client = await gateway.connect({ tls: TRUST });
  await client.ask(GET);
  client.sendUnderTls(Buffer.from('170303001000000000000000000000000000000000', 'hex'));
  await waitFor('it is closed', async () => (await openConnections(gateway)) === 0);
});

function pauseFor(client: RawClient, ms: number): void {
  client.pause();
  setTimeout(() => client.resume(), ms);
}

async function openConnections(gateway: LocalGateway): Promise<number | undefined> {
  return (await gateway.metric('weir_client_connections')).get('');
}
