// Which files of src/ a request runs through, and which `weir serve` loads, both by V8's coverage.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { Session } from 'node:inspector/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { startIssuer } from '../bench/world/issuer.ts';
import { loadConfig } from '../src/config/index.ts';
import { thisMachine } from '../src/core/index.ts';
import { makeLogger } from '../src/observe/index.ts';
import { startApp } from '../src/process/app/index.ts';

/** What V8 says of one script. */
interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number }[];
  }[];
}

/** Requests before the one that is measured: by then the connection, the token and all that is remembered are warm. */
const WARM_UP = 50;
/** Requests that are measured: what only some of them run through is a timer's work, such as a sweep. */
const MEASURED = 5;

/**
 * The files whose functions run for one GET with a known token, limits and headers of a bucket, over a kept connection, from the
 * socket's bytes to the access line; sorted, from the root of the project.
 */
export async function requestFiles(root: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-house-'));
  const upstream = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const issuer = await startIssuer();
  const app = await startGateway(folder, portOf(upstream.address()), issuer.url);
  const session = new Session();
  session.connect();
  try {
    const socket = connect(app.addresses.http.port, '127.0.0.1');
    const request = `GET /v1/channels/7/messages HTTP/1.1\r\nHost: api.example\r\nAuthorization: Bearer ${issuer.token('ES256')}\r\n\r\n`;
    for (let sent = 0; sent < WARM_UP; sent += 1) await ask(socket, request);
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    const runs: (readonly string[])[] = [];
    for (let sent = 0; sent < MEASURED; sent += 1) {
      await session.post('Profiler.takePreciseCoverage');
      await ask(socket, request);
      // The ledger has written its line when the next turn begins.
      await new Promise(resolve => setImmediate(resolve));
      const { result } = await session.post('Profiler.takePreciseCoverage');
      runs.push(filesOf(result, root));
    }
    socket.destroy();
    return runs.reduce((files, run) => files.filter(file => run.includes(file)));
  } finally {
    session.disconnect();
    await app.drain();
    issuer.close();
    upstream.close();
    await rm(folder, { recursive: true });
  }
}

/** The files that `weir serve` has loaded once it is ready, with a provider and limits in memory; sorted. */
export async function servedFiles(root: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-house-'));
  const issuer = await startIssuer();
  try {
    const config = await writeConfig(folder, 9, issuer.url);
    const gateway = spawn(execPath, [join(root, 'src/main.ts'), 'serve', config], {
      env: { ...process.env, NODE_V8_COVERAGE: join(folder, 'coverage') },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let log = '';
    for await (const piece of gateway.stdout) {
      log += String(piece);
      if (log.includes('"listening"')) break;
    }
    gateway.kill('SIGTERM');
    await once(gateway, 'exit');
    const reports = await readdir(join(folder, 'coverage'));
    const texts = await Promise.all(reports.map(name => readFile(join(folder, 'coverage', name), 'utf8')));
    const scripts = texts.flatMap(text => (JSON.parse(text) as { result: ScriptCoverage[] }).result);
    return sourcesOf(
      scripts.map(({ url }) => url),
      root,
    );
  } finally {
    issuer.close();
    await rm(folder, { recursive: true });
  }
}

function filesOf(scripts: readonly ScriptCoverage[], root: string): readonly string[] {
  const ran = scripts.filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0));
  return sourcesOf(
    ran.map(({ url }) => url),
    root,
  );
}

function sourcesOf(urls: readonly string[], root: string): readonly string[] {
  const files = urls.filter(url => url.startsWith('file:')).map(url => relative(root, fileURLToPath(url)));
  return [...new Set(files.filter(file => file.startsWith('src/')))].sort();
}

async function startGateway(folder: string, upstreamPort: number, issuer: string) {
  const path = await writeConfig(folder, upstreamPort, issuer);
  const loaded = await loadConfig(path, { env: process.env, generation: 1 });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  const log = makeLogger('info', { write: () => undefined });
  const app = await startApp(loaded.snapshot, {
    system: thisMachine,
    log,
    source: { path, env: process.env, loaded },
  });
  const admin = app.addresses.admin?.port;
  while ((await fetch(`http://127.0.0.1:${admin}/readyz`)).status !== 200)
    await new Promise(resolve => setTimeout(resolve, 10));
  return app;
}

async function writeConfig(folder: string, upstreamPort: number, issuer: string): Promise<string> {
  const config = `
listen: { http: "127.0.0.1:0", admin: "127.0.0.1:0" }
identity_provider:
  issuer: ${issuer}
  client_id: gateway
  client_secret_file: secret
  redirect_uri: https://app.example/callback
  endpoints: { authorization: "${issuer}/auth", token: "${issuer}/token", key_set: "${issuer}/certs" }
access_tokens: { audience: api }
upstreams: { api: { url: "http://127.0.0.1:${upstreamPort}" } }
routes: [{ path: /v1/**, upstream: api }]
limits: limits.yaml
`;
  const limits = `
global: { user: 60000/1s, address: 60000/1s }
buckets: { read: { main: channel_id, user: 60000/1s } }
routes: { "GET /v1/channels/{channel_id}/messages": read }
`;
  await writeFile(join(folder, 'secret'), 'secret');
  await writeFile(join(folder, 'limits.yaml'), limits);
  const path = join(folder, 'gateway.yaml');
  await writeFile(path, config);
  return path;
}

/** Sends a request and waits for the whole small response. */
async function ask(socket: Socket, request: string): Promise<void> {
  socket.write(request);
  let response = '';
  while (!response.endsWith('hello')) {
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    response += bytes.toString('latin1');
    if (/^HTTP\/1\.1 [345]/.test(response)) throw new Error(response);
  }
}

function portOf(address: ReturnType<import('node:net').Server['address']>): number {
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
