import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { ensureInstalled } from '../support/installed.ts';

/** Of https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md those that ask nothing of TLS or accounts. */
const CASES = [
  'empty_unary',
  'large_unary',
  'client_streaming',
  'server_streaming',
  'ping_pong',
  'empty_stream',
  'timeout_on_sleeping_server',
  'cancel_after_begin',
  'cancel_after_first_response',
  'status_code_and_message',
  'special_status_message',
  'custom_metadata',
  'unimplemented_method',
  'unimplemented_service',
];

const GO = { command: 'go', versionArgs: ['version'], packages: ['golang-go'] };

let folder = '';
let program = '';

beforeAll(async () => {
  ensureInstalled(GO);
  folder = await mkdtemp(join(tmpdir(), 'weir-interop-'));
  program = join(folder, 'grpc-interop');
  execFileSync(GO.command, ['build', '-o', program, '.'], {
    cwd: join(import.meta.dirname, 'grpc-interop'),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}, 600_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

function start(...words: string[]): ChildProcess {
  const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill());
  return child;
}

async function startServer(): Promise<number> {
  const { stdout } = start('server');
  if (stdout === null) throw new Error('the server has no output');
  const [line] = await once(createInterface({ input: stdout }), 'line');
  return Number(line);
}

/** The lines that the client prints before it ends. */
async function runCases(port: number): Promise<string[]> {
  const client = start('client', String(port));
  client.stdin?.end(CASES.map(name => `${name}\n`).join(''));
  let printed = '';
  client.stdout?.on('data', bytes => {
    printed += bytes;
  });
  await once(client, 'close');
  return printed.trim().split('\n');
}

it('carries the interop cases of gRPC between a client and a server in Go', async () => {
  const url = `http://127.0.0.1:${await startServer()}`;
  const gateway = await startGateway({
    upstreamPort: 0,
    config: {
      listen: { http: '127.0.0.1:0', grpc: '127.0.0.1:0', admin: '127.0.0.1:0' },
      upstreams: { interop: { url, protocol: 'grpc' } },
      routes: [
        { grpc: 'grpc.testing.TestService/*', upstream: 'interop', authentication: 'none' },
        // The server does not have it.
        { grpc: 'grpc.testing.UnimplementedService/*', upstream: 'interop', authentication: 'none' },
      ],
    },
  });
  expect(await runCases(gateway.app.addresses.grpc?.port ?? 0)).toEqual(CASES.map(name => `ok ${name}`));
});
