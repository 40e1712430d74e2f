import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { TestAuthority } from './certificates.ts';
import { type LocalGateway, startGateway } from './gateway.ts';
import { buildGo } from './go.ts';
import { tempFolder } from './temp.ts';

/** The interop cases of https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md that ask nothing of accounts. */
export const INTEROP_CASES = [
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

let program = '';

/** Once before the tests of a file, with time for a download: builds the client and the server in Go. */
export function buildInterop(): void {
  program = buildGo(join(import.meta.dirname, '../long/grpc-interop'));
}

/** A gateway in front of the server in Go. */
export interface InteropGateway {
  readonly gateway: LocalGateway;
  /** Where it takes gRPC. */
  readonly port: string;
  /** The file of the certificate that signed the gateway's; '' in cleartext. */
  readonly authorityFile: string;
}

/** Starts both. `http`: the port of an upstream for everything else; by default nothing listens there. */
export async function startInterop(
  security: 'cleartext' | 'TLS' = 'cleartext',
  http = 9,
): Promise<InteropGateway> {
  const { authorityFile, ...grpc } = security === 'TLS' ? await withTls() : { authorityFile: '' };
  const url = `http://127.0.0.1:${await startServer()}`;
  const gateway = await startGateway({
    upstreamPort: http,
    config: {
      listen: {
        http: { address: '127.0.0.1:0', h2c: true },
        grpc: { address: '127.0.0.1:0', ...grpc },
        admin: '127.0.0.1:0',
      },
      upstreams: {
        api: { url: `http://127.0.0.1:${http}`, max_requests_per_caller: '100%' },
        interop: { url, protocol: 'grpc' },
      },
      routes: [
        { path: '/**', upstream: 'api', authentication: 'none' },
        { grpc: 'grpc.testing.TestService/*', upstream: 'interop', authentication: 'none' },
        // The server does not have it.
        { grpc: 'grpc.testing.UnimplementedService/*', upstream: 'interop', authentication: 'none' },
      ],
    },
  });
  return { gateway, port: String(gateway.app.addresses.grpc?.port ?? 0), authorityFile };
}

async function withTls() {
  const folder = await tempFolder();
  const authority = new TestAuthority();
  const { certificate, key } = authority.forHosts('localhost', '127.0.0.1');
  const files = { certificate_file: join(folder, 'a.crt'), key_file: join(folder, 'a.key') };
  const authorityFile = join(folder, 'ca.crt');
  await writeFile(files.certificate_file, certificate);
  await writeFile(files.key_file, key);
  await writeFile(authorityFile, authority.certificate);
  return { authorityFile, tls: { certificates: [files] } };
}

/** What the client in Go prints before it ends. */
export async function runInterop(input: string, ...words: string[]): Promise<string[]> {
  const client = start(...words);
  client.stdin?.end(input);
  let printed = '';
  client.stdout?.on('data', bytes => {
    printed += bytes;
  });
  await once(client, 'close');
  return printed.trim().split('\n');
}

async function startServer(): Promise<number> {
  const { stdout } = start('server');
  if (stdout === null) throw new Error('the server has no output');
  const [line] = await once(createInterface({ input: stdout }), 'line');
  return Number(line);
}

function start(...words: string[]): ChildProcess {
  const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill());
  return child;
}
