import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { buildGo } from '../support/go.ts';

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

/** Messages of one stream: 1,200,000 take a client some seconds (CONTRIBUTING.md). */
const MESSAGES = Number(process.env['WEIR_GRPC_MESSAGES'] ?? 150_000);

let program = '';

beforeAll(() => {
  program = buildGo(join(import.meta.dirname, 'grpc-interop'));
}, 600_000);

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

/** What the program prints before it ends. */
async function linesOf(input: string, ...words: string[]): Promise<string[]> {
  const client = start(...words);
  client.stdin?.end(input);
  let printed = '';
  client.stdout?.on('data', bytes => {
    printed += bytes;
  });
  await once(client, 'close');
  return printed.trim().split('\n');
}

/** A gateway in front of a server, and the port of its listener. */
async function startBetween(): Promise<{ gateway: LocalGateway; port: string }> {
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
  return { gateway, port: String(gateway.app.addresses.grpc?.port ?? 0) };
}

it('the gateway carries the interop cases of gRPC between a client and a server in Go', async () => {
  const { port } = await startBetween();
  const passed = await linesOf(CASES.map(name => `${name}\n`).join(''), 'client', port);
  expect(passed).toEqual(CASES.map(name => `ok ${name}`));
});

it(
  'the gateway carries small messages as fast as a client in Go sends them, and takes them for no flood',
  async () => {
    const { gateway, port } = await startBetween();
    expect(await linesOf('', 'stream', port, String(MESSAGES))).toEqual([String(MESSAGES)]);
    expect(await gateway.counted('weir_http2_faults_total')).toEqual(new Map());
  },
  60_000 + MESSAGES,
);
