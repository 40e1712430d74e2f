import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { startGateway } from '../support/gateway.ts';
import { ensureInstalled } from '../support/installed.ts';
import { head, withBody } from '../support/requests.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

beforeAll(() =>
  ensureInstalled({ command: 'nghttpd', versionArgs: ['--version'], packages: ['nghttp2-server'] }),
);

test('nghttpd, a server of the nghttp2 project, is served through many streams', async () => {
  const folder = await tempFolder();
  const text = 'a'.repeat(300_000);
  await writeFile(join(folder, 'big.txt'), text);
  const port = await freePort();
  const server = spawn('nghttpd', [
    '--no-tls',
    '-a',
    '127.0.0.1',
    '-d',
    folder,
    '-m',
    '10',
    '--echo-upload',
    String(port),
  ]);
  onTestFinished(() => void server.kill());
  const gateway = await startGateway({ upstreamPort: port, api: { protocol: 'h2' } });
  const isThere = async () => (await gateway.ask(head('GET /big.txt'))).status === 200;
  await waitFor('it is there', isThere);
  const responses = await Promise.all(Array.from({ length: 40 }, () => gateway.ask(head('GET /big.txt'))));
  for (const response of responses) expect(response.body.toString() === text).toBe(true);
  const echo = await gateway.ask(withBody('POST /echo', text));
  expect(echo.body.toString() === text).toBe(true);
  expect((await gateway.ask(head('GET /none'))).status).toBe(404);
});
