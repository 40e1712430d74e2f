import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { runCommandLine } from '../../src/cli/index.ts';
import { examplesIn } from '../support/doc-examples.ts';
import { freePort } from '../support/free-port.ts';
import { head } from '../support/requests.ts';
import { tempFolder } from '../support/temp.ts';
import { TestGateway } from '../support/test-gateway.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { message, openSocket } from '../support/web-sockets.ts';
import { bundledScript } from '../support/weir-bundle.ts';
import { values } from '../support/wire/index.ts';

const DOCUMENT = 'docs/getting-started.md';

/** One of the two processes of the service: it says who it is and what it was asked, and echoes over WebSockets. */
async function startProcess(name: string): Promise<number> {
  const server = createServer((request, response) => {
    const { host, 'x-user': user } = request.headers;
    response
      .writeHead(200, { Server: name, 'X-Powered-By': 'x' })
      .end(JSON.stringify({ name, url: request.url, host, user }));
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, { url }) =>
    socket.on('message', text => socket.send(`${url} ${String(text)}`)),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** The file of the document, with the addresses of this machine in place of those that it shows. */
async function fileOfDocument(replacements: Readonly<Record<string, string>>): Promise<string> {
  const examples = examplesIn(DOCUMENT, await readFile(DOCUMENT, 'utf8'));
  const found = examples.find(({ text }) => text.includes('hosts:'));
  let text = found?.text ?? '';
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(40);
  for (const [shown, real] of Object.entries(replacements)) {
    expect(text).toContain(shown);
    text = text.replaceAll(shown, real);
  }
  const path = join(await tempFolder(), 'gateway.yaml');
  await writeFile(path, text);
  return path;
}

async function run(...words: readonly string[]) {
  const out: string[] = [];
  const write = (text: string) => void out.push(text);
  const code = await runCommandLine(words, { env: process.env, out: write, err: write });
  return { code, out: out.join('') };
}

/** Starts `weir serve` as the document does. */
async function serve(path: string, port: number, adminPort: number): Promise<TestGateway> {
  const child = spawn(process.execPath, [await bundledScript(), 'serve', path], { stdio: 'ignore' });
  const exit = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  const gateway = new TestGateway(port, adminPort);
  await expect
    .poll(
      () =>
        gateway.admin('/readyz').then(
          ({ status }) => status,
          () => 0,
        ),
      // A process takes its time to start on a machine that is busy.
      { timeout: 240_000 },
    )
    .toBe(200);
  return gateway;
}

test('the file of "In front of what you have" serves two processes, two hosts, a scope and a WebSocket', async () => {
  const [issuer, port, adminPort] = [await startIssuer(), await freePort(), await freePort()];
  const [one, two] = [await startProcess('one'), await startProcess('two')];
  const path = await fileOfDocument({
    '0.0.0.0:8080': `127.0.0.1:${port}`,
    '127.0.0.1:9090': `127.0.0.1:${adminPort}`,
    'https://id.example.com/realms/main': issuer.url,
    '127.0.0.1:3001': `127.0.0.1:${one}`,
    '127.0.0.1:3002': `127.0.0.1:${two}`,
  });
  expect(await run('check', '--strict', path)).toMatchObject({ code: 0 });
  const told = await run('explain', 'GET', 'https://admin.example.com/api/v2/orders/7', path);
  expect(told.out).toContain('shop.admin');
  const gateway = await serve(path, port, adminPort);
  const ask = (host: string, target: string, ...lines: string[]) =>
    gateway.ask(head(`GET ${target}`, ...lines).replace('gateway.test', host));

  // Both processes serve, below their own root, and learn who calls.
  const names = new Set<string>();
  const bearer = issuer.bearer({ sub: 'alice' });
  for (let i = 0; i < 40 && names.size < 2; i++) {
    const { status, body, fields } = await ask(
      'api.example.com',
      '/api/v2/orders/7?x=1',
      bearer,
      'X-User: mallory',
    );
    const served = JSON.parse(body.toString());
    expect([status, served.url, served.user, served.host]).toEqual([
      200,
      '/orders/7?x=1',
      'alice',
      'api.example.com',
    ]);
    expect([values(fields, 'server'), values(fields, 'x-content-type-options')]).toEqual([[], ['nosniff']]);
    names.add(served.name);
  }
  expect(names).toEqual(new Set(['one', 'two']));

  // No token, no scope, no such host, no such path.
  expect((await ask('api.example.com', '/api/v2/orders')).status).toBe(401);
  expect((await ask('admin.example.com', '/api/v2/orders', bearer)).status).toBe(403);
  const admin = issuer.bearer({ sub: 'bob', scope: 'openid shop.admin' });
  expect((await ask('ADMIN.example.com:8080', '/api/v2/orders', admin)).status).toBe(200);
  expect((await ask('other.example.com', '/api/v2/orders', bearer)).status).toBe(404);
  expect((await ask('api.example.com', '/orders', bearer)).status).toBe(404);

  const socket = await openSocket(gateway, '/api/v2/live', {
    headers: { Host: 'api.example.com', Authorization: bearer.replace('Authorization: ', '') },
  });
  socket.send('hello');
  expect(await message(socket)).toBe('/live hello');
});
