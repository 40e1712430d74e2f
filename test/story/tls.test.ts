import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';
import { header } from '../support/wire/index.ts';

const run = promisify(execFile);
const TRUST = { ca: AUTHORITY.certificate, servername: 'localhost' };
const GET = 'GET /a HTTP/1.1\r\nHost: gateway.test\r\n\r\n';

test('curl is served over TLS, and the upstream is told the scheme', async () => {
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
