import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { H2C } from '../support/http2-client.ts';
import { ensureInstalled } from '../support/installed.ts';
import { Random } from '../support/random.ts';
import { tempFolder } from '../support/temp.ts';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';
import { header, type Script, startUpstream } from '../support/wire/index.ts';

const run = promisify(execFile);

/** Less than a hundred bytes. */
const SMALL_FILE = join(import.meta.dirname, '../../NOTICE');

/** Answers with what came. */
const echo: Script = async exchange => {
  await exchange.received();
  await exchange.answer(200, ['X-Via', header(exchange.request, 'via') ?? ''], exchange.request.body);
};

beforeAll(() => {
  for (const command of ['nghttp', 'h2load'])
    ensureInstalled({ command, versionArgs: ['--version'], packages: ['nghttp2-client'] });
});

async function startCleartext(): Promise<string> {
  const upstream = await startUpstream(echo);
  const api = { max_requests_per_caller: '100%' };
  const gateway = await startGateway({ upstreamPort: upstream.port, api, config: { listen: H2C } });
  return `http://127.0.0.1:${gateway.port}`;
}

/** The gateway's url, and curl's arguments to trust it. */
async function startSecure(tls = {}): Promise<{ url: string; trust: string[] }> {
  const { gateway, folder } = await startTlsGateway({ script: echo, tls });
  await writeFile(join(folder, 'ca.crt'), AUTHORITY.certificate);
  const url = `https://localhost:${gateway.port}`;
  return {
    url,
    trust: ['--cacert', join(folder, 'ca.crt'), '--resolve', `localhost:${gateway.port}:127.0.0.1`],
  };
}

/** What curl says of each response: version, status, and the version that the upstream was told. */
const FORMAT = ['-sS', '-o', '/dev/null', '-w', '%{http_version} %{http_code} %header{x-via}\n'];

test('curl speaks HTTP/2 over TLS where it may, and HTTP/1.1 where it wants or must', async () => {
  const { url, trust } = await startSecure();
  const { stdout } = await run('curl', [...FORMAT, ...trust, `${url}/a`]);
  expect(stdout).toBe('2 200 2 weir\n');
  expect((await run('curl', [...FORMAT, ...trust, '--http1.1', `${url}/a`])).stdout).toBe(
    '1.1 200 1.1 weir\n',
  );
  const without = await startSecure({ http2: false });
  expect((await run('curl', [...FORMAT, ...without.trust, `${without.url}/a`])).stdout).toBe(
    '1.1 200 1.1 weir\n',
  );
});

test('curl uploads and downloads a body over HTTP/2, with and without TLS', async () => {
  const folder = await tempFolder();
  const body = new Random(1).bytes(900_000);
  await writeFile(join(folder, 'in'), body);
  const { url, trust } = await startSecure();
  for (const args of [
    [...trust, `${url}/a`],
    ['--http2-prior-knowledge', `${await startCleartext()}/a`],
  ]) {
    const upload = ['-sS', '--data-binary', `@${join(folder, 'in')}`, ...args];
    const { stdout } = await run('curl', upload, { encoding: 'buffer', maxBuffer: 10_000_000 });
    expect(stdout.equals(body)).toBe(true);
  }
});

test('a client that offers an upgrade to HTTP/2 in HTTP/1.1 is served over that', async () => {
  const { stdout } = await run('curl', [...FORMAT, '--http2', `${await startCleartext()}/a`]);
  expect(stdout).toBe('1.1 200 1.1 weir\n');
});

test('nghttp gets many streams of one connection, with a body on each', async () => {
  const folder = await tempFolder();
  await writeFile(join(folder, 'in'), 'x'.repeat(10_000));
  const url = await startCleartext();
  const urls = Array.from({ length: 20 }, (_, i) => `${url}/${i}`);
  const { stdout } = await run('nghttp', ['-s', '-d', join(folder, 'in'), '--no-dep', ...urls], {
    maxBuffer: 10_000_000,
  });
  expect(stdout.match(/x{10000}/g)).toHaveLength(20);
});

test.each([
  ['one stream at a time', ['-c', '8', '-m', '1']],
  ['a hundred streams at a time', ['-c', '4', '-m', '100']],
  ['more streams than the gateway takes at a time', ['-c', '2', '-m', '500']],
  ['small windows', ['-c', '2', '-m', '20', '-w', '10', '-W', '11']],
  ['windows of a gigabyte', ['-c', '2', '-m', '20', '-w', '30', '-W', '30']],
  ['frames of a megabyte', ['-c', '2', '-m', '20', '-f', '1048576']],
  [
    'no table for headers, on either side',
    ['-m', '20', '--header-table-size=0', '--encoder-header-table-size=0'],
  ],
  [
    'tables for headers larger than ours',
    ['-m', '20', '--header-table-size=65536', '--encoder-header-table-size=65536'],
  ],
  ['a body', ['-c', '4', '-m', '20', '-d', import.meta.filename]],
  ['a body through windows of one byte', ['-c', '2', '-m', '20', '-w', '1', '-d', SMALL_FILE]],
  ['long fields', ['-m', '20', '-H', `x-long: ${'x'.repeat(8_000)}`, '-H', 'Cookie: a=b']],
  ['more threads than processors', ['-c', '12', '-m', '10', '-t', '4']],
  ['connections that begin one after the other', ['-c', '20', '-m', '10', '-r', '10', '--rate-period=20ms']],
  ['HTTP/1.1', ['-c', '4', '--h1']],
])('h2load is served whole: %s', async (_, args) => {
  expectWhole((await run('h2load', ['-n', '1000', ...args, `${await startCleartext()}/a`])).stdout);
});

test('h2load is served whole over TLS', async () => {
  const { url } = await startSecure();
  expectWhole((await run('h2load', ['-n', '1000', '-c', '4', '-m', '10', `${url}/a`])).stdout);
});

function expectWhole(said: string): void {
  expect(said).toContain('1000 succeeded, 0 failed, 0 errored, 0 timeout');
  expect(said).toContain('status codes: 1000 2xx');
}
