import { join } from 'node:path';
import { expect, test } from 'vitest';
import { changeConfig, configPart } from '../support/edit-config.ts';
import { tempText } from '../support/temp.ts';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';
import { waitFor } from '../support/wait.ts';
import { type ConnectOptions, openRaw } from '../support/wire/index.ts';

const TRUST = { ca: AUTHORITY.certificate, servername: 'localhost' };
const GET = 'GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n';

test('handshakes that are never finished do not shut out those that are: the oldest gives way', async () => {
  const { gateway, folder } = await startTlsGateway();
  const certificates = [{ certificate_file: join(folder, '0.crt'), key_file: join(folder, '0.key') }];
  const { http } = await configPart(gateway, 'listen');
  await changeConfig(gateway, { listen: { http, admin: { address: '127.0.0.1:0', tls: { certificates } } } });
  const ask = async () => {
    const client = await openRaw(gateway.adminPort, { tls: TRUST });
    return (await client.ask(GET)).status;
  };
  await waitFor('it speaks TLS', () =>
    ask().then(
      status => status === 200,
      () => false,
    ),
  );
  const begin = async () => {
    const client = await openRaw(gateway.adminPort, {});
    await client.send(Buffer.from('1603010200010001fc0303', 'hex'));
    return client;
  };
  const [first, second] = [await begin(), await begin()];
  for (let others = 2; others < 64; others++) await begin();
  expect([first.end, second.end]).toEqual([null, null]);
  expect(await ask()).toBe(200);
  expect(await first.ended()).toBe('close');
  // What succeeds makes room again.
  await ask();
  expect(second.end).toBe(null);
});

test('the admin listener takes TLS, asks for certificates, and goes back, all by reloads', async () => {
  const { gateway, folder } = await startTlsGateway();
  const certificates = [{ certificate_file: join(folder, '0.crt'), key_file: join(folder, '0.key') }];
  const ca_file = await tempText('ca.crt', AUTHORITY.certificate);
  const ask = async (options: ConnectOptions): Promise<number | null> => {
    try {
      const client = await openRaw(gateway.adminPort, options);
      return await client
        .ask(GET)
        .then(
          ({ status }) => status,
          () => null,
        )
        .finally(() => client.destroy());
    } catch {
      return null;
    }
  };
  const change = (tls: object | undefined) =>
    changeConfig(gateway, {
      listen: {
        http: { address: '127.0.0.1:0', tls: { certificates } },
        admin: { address: '127.0.0.1:0', ...(tls && { tls }) },
      },
    });
  const { certificate: cert, key } = AUTHORITY.forClient('prometheus');
  expect(await ask({})).toBe(200);
  await change({ certificates });
  await waitFor('it speaks TLS', async () => (await ask({ tls: TRUST })) === 200);
  expect(await ask({})).toBe(null);
  await change({ certificates, client_certificates: { ca_file } });
  await waitFor('it asks for a certificate', async () => (await ask({ tls: TRUST })) === null);
  expect(await ask({ tls: { ...TRUST, cert, key } })).toBe(200);
  await change(undefined);
  await waitFor('it speaks cleartext', async () => (await ask({})) === 200);
});
