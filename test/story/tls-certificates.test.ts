import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:https';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Identity } from '../support/certificates.ts';
import { changeConfig, refusals, replaceFile, serves } from '../support/edit-config.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { tempFolder } from '../support/temp.ts';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

const TRUST = { ca: AUTHORITY.certificate, servername: 'localhost' };
const GET = 'GET /a HTTP/1.1\r\nHost: gateway.test\r\n\r\n';
const EXPIRY = 'weir_tls_certificate_expiry_timestamp_seconds';

/** The serial number of the certificate that a new client is served. */
async function served(gateway: LocalGateway): Promise<string | undefined> {
  const client = await gateway.connect({ tls: TRUST });
  const serial = client.tls.getPeerX509Certificate()?.serialNumber;
  client.destroy();
  return serial;
}

const newIdentity = () => AUTHORITY.forHosts('localhost', '127.0.0.1');

test('a new certificate is served to new clients, and existing connections stay', async () => {
  const { gateway, folder } = await startTlsGateway();
  const before = await gateway.connect({ tls: TRUST });
  await before.ask(GET);
  const first = await served(gateway);
  const { certificate, key } = newIdentity();
  await replaceFile(join(folder, '0.key'), key);
  await replaceFile(join(folder, '0.crt'), certificate);
  await serves(gateway, 2);
  expect(await served(gateway)).not.toBe(first);
  expect((await before.ask(GET)).status).toBe(200);
});

test('an earlier session is resumed after the certificate changed', async () => {
  const { gateway, folder } = await startTlsGateway();
  const before = await gateway.connect({ tls: TRUST });
  await before.ask(GET);
  const session = before.tls.getSession();
  const { certificate, key } = newIdentity();
  await replaceFile(join(folder, '0.key'), key);
  await replaceFile(join(folder, '0.crt'), certificate);
  await serves(gateway, 2);
  const after = await gateway.connect({ tls: { ...TRUST, ...(session && { session }) } });
  expect((await after.ask(GET)).status).toBe(200);
  expect(after.tls.isSessionReused()).toBe(true);
});

/** A folder as Kubernetes mounts a Secret: the files are links through `..data`, which is replaced as a whole. */
async function mountSecret(): Promise<{ folder: string; swap: (identity: Identity) => Promise<void> }> {
  const folder = await tempFolder();
  let version = 0;
  const swap = async ({ certificate, key }: Identity) => {
    const name = `..v${++version}`;
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'tls.crt'), certificate);
    await writeFile(join(folder, name, 'tls.key'), key);
    await symlink(name, join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
  };
  await swap(newIdentity());
  for (const file of ['tls.crt', 'tls.key']) await symlink(join('..data', file), join(folder, file));
  return { folder, swap };
}

test('the files of a Secret are swapped again and again under load without a failed request', async () => {
  const { folder, swap } = await mountSecret();
  const upstream = await startUpstream();
  const certificates = [{ certificate_file: join(folder, 'tls.crt'), key_file: join(folder, 'tls.key') }];
  const listen = { http: { address: '127.0.0.1:0', tls: { certificates } }, admin: '127.0.0.1:0' };
  const gateway = await startGateway({ upstreamPort: upstream.port, config: { listen } });
  const agents = [new Agent({ keepAlive: true, maxSockets: 2 }), new Agent({ keepAlive: false })];
  let [statuses, failures, running] = [0, [] as unknown[], true];
  const ask = (agent: Agent) =>
    new Promise<void>(resolve => {
      const options = { port: gateway.port, host: 'localhost', path: '/a', agent, ca: AUTHORITY.certificate };
      get(options, response => {
        if (response.statusCode === 200) statuses++;
        else failures.push(response.statusCode);
        response.resume().on('end', resolve);
      }).on('error', error => {
        failures.push(error);
        resolve();
      });
    });
  const clients = agents.map(async agent => {
    while (running) await ask(agent);
  });
  const serials = new Set([await served(gateway)]);
  for (const generation of [2, 3, 4]) {
    await swap(newIdentity());
    await serves(gateway, generation);
    serials.add(await served(gateway));
    const before = statuses;
    await waitFor('requests are served by it', () => statuses > before + 7);
  }
  running = false;
  await Promise.all(clients);
  for (const agent of agents) agent.destroy();
  expect(failures).toEqual([]);
  expect(serials.size).toBe(4);
});

describe('a certificate that cannot serve', () => {
  test('changes nothing: the old one serves on, and the file is named', async () => {
    const { gateway, folder } = await startTlsGateway();
    const first = await served(gateway);
    await replaceFile(join(folder, '0.crt'), newIdentity().certificate);
    await refusals(gateway, 1);
    expect(await served(gateway)).toBe(first);
    const status = (await gateway.admin('/status')).text;
    expect(status).toContain('key_file: the key does not belong to the certificate');
  });

  test('does not keep the gateway from following the files once they fit again', async () => {
    const { gateway, folder } = await startTlsGateway();
    const first = await served(gateway);
    const { certificate, key } = newIdentity();
    await replaceFile(join(folder, '0.crt'), certificate);
    await refusals(gateway, 1);
    await replaceFile(join(folder, '0.key'), key);
    await serves(gateway, 2);
    expect(await served(gateway)).not.toBe(first);
  });
});

test('the list follows a reload, and TLS may be taken away and given back', async () => {
  const { gateway, folder } = await startTlsGateway();
  const files = { certificate_file: join(folder, '0.crt'), key_file: join(folder, '0.key') };
  const listen = (http: object) => ({
    listen: { http: { address: '127.0.0.1:0', ...http }, admin: '127.0.0.1:0' },
  });
  await changeConfig(gateway, listen({}));
  await serves(gateway, 2);
  expect((await gateway.ask(GET)).status).toBe(200);
  await changeConfig(gateway, listen({ tls: { certificates: [files, files] } }));
  await serves(gateway, 3);
  expect((await gateway.ask(GET, { tls: TRUST })).status).toBe(200);
});

test('the metric and the status page tell when each certificate expires', async () => {
  const days = 20;
  const { gateway, folder } = await startTlsGateway({
    identities: [AUTHORITY.forHostsWith({ days }, 'localhost'), AUTHORITY.forHosts('b.test')],
  });
  const expiry = await gateway.metric(EXPIRY);
  const labels = ['0', '1'].map(name => `{listener="http",certificate="${join(folder, `${name}.crt`)}"}`);
  expect([...expiry.keys()]).toEqual(labels);
  const seconds = expiry.get(labels[0] ?? '') ?? 0;
  expect(Math.abs(seconds - Date.now() / 1_000 - days * 86_400)).toBeLessThan(3_600);
  const { certificates } = JSON.parse((await gateway.admin('/status.json')).text);
  expect(certificates[0]).toEqual({
    listener: 'http',
    certificate: join(folder, '0.crt'),
    notAfter: new Date(seconds * 1_000).toISOString(),
  });
  const day = new Date(seconds * 1_000).toISOString();
  await waitFor('the page names it', async () => (await gateway.admin('/status')).text.includes(day));
});

test('an expired certificate is still served, with a warning', async () => {
  const { gateway } = await startTlsGateway({
    identities: [AUTHORITY.forHostsWith({ days: -1 }, 'localhost')],
  });
  const client = await gateway.connect({ tls: { ...TRUST, rejectUnauthorized: false } });
  expect((await client.ask(GET)).status).toBe(200);
});
