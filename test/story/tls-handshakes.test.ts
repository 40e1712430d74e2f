import { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { TestAuthority } from '../support/certificates.ts';
import { changeConfig, configPart, replaceFile, serves } from '../support/edit-config.ts';
import { expectError } from '../support/error-object.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { tempText } from '../support/temp.ts';
import { inTime } from '../support/test-clock.ts';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';
import { waitFor } from '../support/wait.ts';
import { header, openRaw, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const TRUST = { ca: AUTHORITY.certificate, servername: 'localhost' };
const GET = 'GET /a HTTP/1.1\r\nHost: gateway.test\r\n\r\n';

/** Waits until so many handshakes ended like this. */
async function ended(gateway: LocalGateway, outcome: string, count = 1): Promise<void> {
  const label = `{listener="http",outcome="${outcome}"}`;
  const seen = async () => (await gateway.metric('weir_tls_handshakes_total')).get(label);
  await waitFor(`${count} ${outcome}`, async () => (await seen()) === count);
}

/** How many handshakes ended in which way. */
async function outcomesOf(gateway: LocalGateway): Promise<Record<string, number>> {
  const counts = await gateway.metric('weir_tls_handshakes_total');
  return Object.fromEntries([...counts].filter(([, count]) => count > 0));
}

async function connectionsOf(gateway: LocalGateway): Promise<number | undefined> {
  return (await gateway.metric('weir_client_connections')).get('');
}

/** What a client is agreed with that takes any version: the version, and the protocol by ALPN. Else why it is refused. */
function scan(gateway: LocalGateway, options: ConnectionOptions): Promise<string> {
  const tls = { ...TRUST, minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0', ...options } as const;
  return gateway.connect({ tls }).then(
    client => `${client.tls.getProtocol()} ${client.tls.alpnProtocol}`,
    ({ code }) => code,
  );
}

const TOO_OLD = 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION';

test('TLS 1.2 and 1.3 are offered, 1.0 and 1.1 refused', async () => {
  const { gateway } = await startTlsGateway();
  for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const)
    expect(await scan(gateway, { maxVersion })).toBe(`${maxVersion} false`);
  for (const maxVersion of ['TLSv1', 'TLSv1.1'] as const)
    expect(await scan(gateway, { maxVersion })).toBe(TOO_OLD);
  await ended(gateway, 'no_overlap', 2);
});

test('a client that offers HTTP/1.0 alone by ALPN is served', async () => {
  const { gateway } = await startTlsGateway();
  expect(await scan(gateway, { ALPNProtocols: ['http/1.0'] })).toBe('TLSv1.3 http/1.0');
  expect(await scan(gateway, { ALPNProtocols: ['spdy/3'] })).toMatch(/ALERT_NO_APPLICATION_PROTOCOL$/);
});

test('min_version refuses TLS 1.2, also once a reload has set it', async () => {
  const { gateway } = await startTlsGateway();
  const scanOld = () => scan(gateway, { maxVersion: 'TLSv1.2' });
  expect(await scanOld()).toBe('TLSv1.2 false');
  const { http, ...others } = await configPart(gateway, 'listen');
  const { tls, ...rest } = http as { readonly tls: object };
  await changeConfig(gateway, {
    listen: { ...others, http: { ...rest, tls: { ...tls, min_version: 'TLSv1.3' } } },
  });
  await waitFor('it is refused', async () => (await scanOld()) === TOO_OLD);
  expect(await scan(gateway, {})).toBe('TLSv1.3 false');
});

test('a client is served the certificate for the name that it asks for, else the first', async () => {
  const identities = [['localhost'], ['a.test', 'b.test'], ['*.wild.test'], ['one.wild.test']];
  const { gateway } = await startTlsGateway({
    identities: identities.map(hosts => AUTHORITY.forHosts(...hosts)),
  });
  const served = async (servername: string) => {
    const client = await gateway.connect({
      tls: { ...TRUST, servername, checkServerIdentity: () => undefined },
    });
    return client.tls.getPeerX509Certificate()?.subjectAltName?.replaceAll('DNS:', '');
  };
  expect(await served('localhost')).toBe('localhost');
  expect(await served('B.test')).toBe('a.test, b.test');
  expect(await served('two.wild.test')).toBe('*.wild.test');
  expect(await served('one.wild.test')).toBe('one.wild.test');
  for (const unknown of ['wild.test', 'a.b.wild.test', 'c.test', ''])
    expect(await served(unknown)).toBe('localhost');
});

describe('a handshake', () => {
  test('that is never begun, or never ended, is broken off in time', async () => {
    const { gateway } = await startTlsGateway({ config: { timeouts: { tls_handshake: '500ms' } } });
    const [silent, begun] = [await gateway.connect(), await gateway.connect()];
    await begun.send(Buffer.from('1603010200010001fc0303', 'hex'));
    const both = Promise.all([silent.ended(), begun.ended()]);
    expect(await inTime(gateway.time, both)).toEqual(['close', 'close']);
    await ended(gateway, 'timeout', 2);
  });

  test('that gets a byte now and then is still aborted in time', async () => {
    const { gateway } = await startTlsGateway({ config: { timeouts: { tls_handshake: '500ms' } } });
    const client = await gateway.connect();
    let isOver = false;
    void client.ended().then(() => (isOver = true));
    const drip = () => {
      if (!isOver) void client.send(Buffer.from([0x16]));
      return isOver;
    };
    await gateway.time.advanceUntil('it is aborted', drip, 50);
    expect(await client.ended()).toBe('close');
  });

  test.each([
    ['of a client that speaks HTTP', GET, 'cleartext'],
    ['of a client that sends noise', Buffer.concat([Buffer.from([0x16]), Buffer.alloc(600, 7)]), 'malformed'],
  ])('%s is refused and counted', async (_, bytes, outcome) => {
    const { gateway } = await startTlsGateway();
    const client = await gateway.connect();
    await client.send(bytes);
    await client.ended();
    await ended(gateway, outcome);
  });

  test('in place of which a client speaks HTTP is answered so, and its upload does not hide the answer', async () => {
    const { gateway } = await startTlsGateway();
    const client = await gateway.connect();
    const upload = `POST /a HTTP/1.1\r\nHost: gateway.test\r\nContent-Length: 200000\r\n\r\n${'x'.repeat(200_000)}`;
    const response = await client.ask(upload);
    expectError(response, 400, 3);
    expect(response.body.toString()).toContain('https://');
    await ended(gateway, 'cleartext');
  });

  test('of a client that does not trust the certificate is counted as rejected', async () => {
    const { gateway } = await startTlsGateway();
    const client = await gateway.connect();
    await client.send(await clientHello());
    await waitFor('it has the certificate', () => client.bytesRead > 0);
    // The alert "unknown_ca". A client of Node.js would only close.
    await client.send(Buffer.from('15030300020230', 'hex'));
    await ended(gateway, 'rejected');
  });

  test.each([
    ['inside it', 'reset'],
    ['inside it, closing its side alone', 'endSending'],
  ] as const)('of a client that goes away %s is counted as closed', async (_, goesAway) => {
    const { gateway } = await startTlsGateway();
    const client = await gateway.connect();
    await client.send(Buffer.from('1603010200010001fc0303', 'hex'));
    await waitFor('it is accepted', async () => (await connectionsOf(gateway)) === 1);
    client[goesAway]();
    await ended(gateway, 'closed');
    expect(await connectionsOf(gateway)).toBe(0);
  });

  test.each(['reset', 'endSending'] as const)(
    'is none where a client goes away before its first byte, as health checks do (%s)',
    async goesAway => {
      const { gateway } = await startTlsGateway();
      const check = await gateway.connect();
      await waitFor('it is accepted', async () => (await connectionsOf(gateway)) === 1);
      check[goesAway]();
      await waitFor('it is closed', async () => (await connectionsOf(gateway)) === 0);
      // A later one is counted behind it.
      const client = await gateway.connect();
      await client.send(GET);
      await ended(gateway, 'cleartext');
      expect(await outcomesOf(gateway)).toEqual({ '{listener="http",outcome="cleartext"}': 1 });
    },
  );

  test('finds room at each of several workers, however many others are under way there', async () => {
    const { gateway } = await startTlsGateway({ config: { workers: 3, caps: { tls_handshakes: 3 } } });
    for (let others = 0; others < 12; others++) {
      const other = await gateway.connect();
      await other.send(Buffer.from('1603010200010001fc0303', 'hex'));
      const client = await gateway.connect({ tls: TRUST });
      expect((await client.ask(GET)).status).toBe(200);
    }
  });

  test('is not begun where the connection is one too many', async () => {
    const { gateway } = await startTlsGateway({ config: { caps: { connections: 1 } } });
    await gateway.connect({ tls: TRUST });
    await expect(openRaw(gateway.port, { tls: TRUST })).rejects.toThrow();
    await ended(gateway, 'capacity');
  });
});

test('hundreds of connections that only begin a handshake do not delay others', async () => {
  const { gateway } = await startTlsGateway({
    // No handshake is late, however long a busy machine takes.
    clock: new FrozenClock(Date.now()),
    config: { caps: { tls_handshakes: 50, connections_per_address: 2_000 } },
  });
  const clients = await Promise.all(Array.from({ length: 300 }, () => gateway.connect()));
  await Promise.all(clients.map(client => client.send(Buffer.from('1603010200010001fc0303', 'hex'))));
  // Where one that ends comes between them, another has its place.
  await ended(gateway, 'capacity', 250);
  const client = await gateway.connect({ tls: TRUST });
  expect((await client.ask(GET)).status).toBe(200);
  await ended(gateway, 'capacity', 251);
});

test('while draining, a connection without a byte is not waited for, nor counted as a handshake', async () => {
  const { gateway } = await startTlsGateway({ config: { timeouts: { tls_handshake: '60s' } } });
  const uploading = await gateway.connect({ tls: TRUST });
  await uploading.send('POST /a HTTP/1.1\r\nHost: gateway.test\r\nContent-Length: 1\r\n\r\n');
  const silent = await gateway.connect();
  await waitFor('both are open', async () => (await connectionsOf(gateway)) === 2);
  const drained = gateway.app.drain();
  await gateway.time.advanceUntil('it is closed', () => silent.end !== null, 500);
  expect(await outcomesOf(gateway)).toEqual({ '{listener="http",outcome="full"}': 1 });
  await uploading.send('x');
  expect((await uploading.answer()).status).toBe(200);
  uploading.destroy();
  expect(await inTime(gateway.time, drained)).toBe(true);
});

test('a client may not renegotiate', async () => {
  const { gateway } = await startTlsGateway();
  const client = await gateway.connect({ tls: { ...TRUST, maxVersion: 'TLSv1.2' } });
  expect((await client.ask(GET)).status).toBe(200);
  client.tls.renegotiate({}, () => {});
  expect(await client.ended()).toMatch(/close|reset/);
});

describe('certificates of clients', () => {
  const start = async (required?: boolean) => {
    const ca = await tempText('clients.crt', AUTHORITY.certificate);
    const client_certificates = { ca_file: ca, ...(required !== undefined && { required }) };
    return startTlsGateway({ tls: { client_certificates } });
  };
  const certified = (authority: TestAuthority) => {
    const { certificate, key } = authority.forClient('caller');
    return { tls: { ...TRUST, cert: certificate, key } };
  };

  test('are verified and go upstream as Client-Cert, which clients cannot forge', async () => {
    const { gateway, upstream } = await start();
    const options = certified(AUTHORITY);
    const client = await gateway.connect(options);
    const forged = GET.replace(
      '\r\n\r\n',
      '\r\nClient-Cert: :Zm9yZ2Vk:\r\nClient_Cert-Chain: :Zm9yZ2Vk:\r\n\r\n',
    );
    expect((await client.ask(forged)).status).toBe(200);
    const [request] = upstream.requests;
    const der = options.tls.cert.replaceAll(/-----[^-]+-----|\s/g, '');
    expect(request && header(request, 'Client-Cert')).toBe(`:${der}:`);
    expect(String(request?.head).toLowerCase()).not.toContain('chain');
  });

  test('go upstream on a resumed session as well', async () => {
    const { gateway, upstream } = await start();
    const options = certified(AUTHORITY);
    for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
      const first = await gateway.connect({ tls: { ...options.tls, maxVersion } });
      await first.ask(GET);
      const session = first.tls.getSession();
      const second = await gateway.connect({
        tls: { ...options.tls, maxVersion, ...(session && { session }) },
      });
      await second.ask(GET);
      expect(second.tls.isSessionReused()).toBe(true);
    }
    expect(new Set(upstream.requests.map(request => header(request, 'Client-Cert'))).size).toBe(1);
    expect(upstream.requests).toHaveLength(4);
  });

  test.each([
    ['none where one is required', undefined, () => ({ tls: TRUST })],
    ['one of another authority', undefined, () => certified(new TestAuthority('another'))],
    ['one of another authority where none is required', false, () => certified(new TestAuthority('another'))],
  ])('keep a client out that has %s', async (_, required, options) => {
    const { gateway } = await start(required);
    // With TLS 1.3 a client takes the handshake for done before its certificate is looked at.
    const request = openRaw(gateway.port, options()).then(client =>
      client.ask(GET).finally(() => client.destroy()),
    );
    await expect(request).rejects.toThrow();
    await ended(gateway, 'client_certificate');
  });

  test('may be left out where they are not required', async () => {
    const { gateway, upstream } = await start(false);
    const client = await gateway.connect({ tls: TRUST });
    expect((await client.ask(GET.replace('\r\n\r\n', '\r\nClient-Cert: :Zm9yZ2Vk:\r\n\r\n'))).status).toBe(
      200,
    );
    expect(upstream.requests.map(request => header(request, 'Client-Cert'))).toEqual([undefined]);
  });

  test('of one listener cannot be forged on another, not even by a trusted proxy', async () => {
    const upstream = await startUpstream();
    const { certificate, key } = AUTHORITY.forHosts('localhost');
    const tls = {
      certificates: [
        {
          certificate_file: await tempText('grpc.crt', certificate),
          key_file: await tempText('grpc.key', key),
        },
      ],
      client_certificates: { ca_file: await tempText('clients.crt', AUTHORITY.certificate) },
    };
    const listen = { http: '127.0.0.1:0', grpc: { address: '127.0.0.1:0', tls }, admin: '127.0.0.1:0' };
    const config = { listen, trusted_proxies: ['127.0.0.1'] };
    const gateway = await startGateway({ upstreamPort: upstream.port, config });
    const forged = '\r\nClient-Cert: :Zm9yZ2Vk:\r\nClient-Cert-Chain: :Zm9yZ2Vk:\r\n\r\n';
    expect((await gateway.ask(GET.replace('\r\n\r\n', forged))).status).toBe(200);
    expect(String(upstream.requests[0]?.head).toLowerCase()).not.toContain('client-cert');
  });

  test('of an authority that is no longer trusted are refused, on resumed sessions as well', async () => {
    const { gateway } = await start();
    const options = certified(AUTHORITY);
    const before = await gateway.connect(options);
    expect((await before.ask(GET)).status).toBe(200);
    const session = before.tls.getSession();
    const { http } = await configPart(gateway, 'listen');
    const { tls } = http as { readonly tls: { readonly client_certificates: { readonly ca_file: string } } };
    await replaceFile(tls.client_certificates.ca_file, new TestAuthority('another').certificate);
    await serves(gateway, 2);
    const request = openRaw(gateway.port, { tls: { ...options.tls, ...(session && { session }) } }).then(
      client => client.ask(GET).finally(() => client.destroy()),
    );
    await expect(request).rejects.toThrow();
    await ended(gateway, 'client_certificate');
  });
});

/** What a client of TLS 1.2 says first. */
function clientHello(): Promise<Buffer> {
  return new Promise(resolve => {
    const wire = new Duplex({ read: () => {}, write: resolve });
    connectTls({ socket: wire, maxVersion: 'TLSv1.2' });
  });
}
