import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, test } from 'vitest';
import type { LocalGateway } from '../support/gateway.ts';
import { ensureInstalled } from '../support/installed.ts';
import { startTlsGateway } from '../support/tls-gateway.ts';

beforeAll(() => ensureInstalled({ command: 'openssl', versionArgs: ['version'], packages: ['openssl'] }));

/** What `openssl s_client` says of a connection with these options. */
async function scan(gateway: LocalGateway, ...options: string[]): Promise<string> {
  const client = spawn('openssl', ['s_client', '-connect', `127.0.0.1:${gateway.port}`, ...options]);
  client.stdin.end();
  const [said] = await Promise.all([
    Promise.all([text(client.stdout), text(client.stderr)]),
    once(client, 'close'),
  ]);
  return said.join('');
}

test('openssl resumes a session, and says so where it does not trust the certificate', async () => {
  const { gateway, folder } = await startTlsGateway();
  const session = join(folder, 'session.pem');
  await scan(gateway, '-tls1_2', '-sess_out', session);
  expect(await scan(gateway, '-tls1_2', '-sess_in', session)).toContain('Reused, TLSv1.2');
  expect(await scan(gateway, '-verify_return_error')).toContain('verify error');
  const rejected = async () => [...(await gateway.counted('weir_tls_handshakes_total')).keys()].join();
  await expect.poll(rejected).toContain('outcome="rejected"');
});
