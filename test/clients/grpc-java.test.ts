import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { buildInterop, INTEROP_CASES, startInterop } from '../support/grpc-interop.ts';
import { ensureInstalled } from '../support/installed.ts';

const FOLDER = join(import.meta.dirname, 'grpc-java');
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/grpc-java');

let classPath = '';
beforeAll(() => {
  ensureInstalled({ command: 'java', versionArgs: ['-version'], packages: ['default-jre-headless'] });
  ensureInstalled({ command: 'mvn', versionArgs: ['--version'], packages: ['maven'] });
  mkdirSync(CACHE, { recursive: true });
  const file = join(CACHE, 'class-path');
  execFileSync('mvn', ['-q', '-B', 'dependency:build-classpath', `-Dmdep.outputFile=${file}`], {
    cwd: FOLDER,
  });
  classPath = readFileSync(file, 'utf8');
  buildInterop();
});

const CLIENT = 'io.grpc.testing.integration.TestServiceClient';
/** A second for each call is too little on a busy machine. */
const SOAK = [
  '--soak_iterations=100',
  '--soak_per_iteration_max_acceptable_latency_ms=60000',
  '--soak_overall_timeout_seconds=200',
];
const CASES = [...INTEROP_CASES, 'very_large_request', 'rpc_soak', 'channel_soak'];

test.each([
  ['Netty', []],
  ['OkHttp', ['--use_okhttp=true']],
])('gRPC for Java on %s passes the interop cases through the gateway', async (_, args) => {
  const { gateway, port } = await startInterop();
  const server = ['--server_host=127.0.0.1', `--server_port=${port}`, '--use_tls=false', ...args];
  const failed: string[] = [];
  for (const name of CASES) {
    const words = ['-cp', classPath, CLIENT, ...server, ...SOAK, `--test_case=${name}`];
    await promisify(execFile)('java', words).catch(failure => failed.push(`${name}: ${failure}`));
  }
  expect(failed).toEqual([]);
  expect(await gateway.counted('weir_http2_faults_total')).toEqual(new Map());
});
