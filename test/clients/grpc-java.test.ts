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

/** Lets Java trust an authority: returns its arguments. */
function trustOf(authorityFile: string): string[] {
  const [file, password] = [`${authorityFile}.p12`, 'changeit'];
  const store = ['-keystore', file, '-storepass', password];
  execFileSync('keytool', ['-importcert', '-noprompt', '-file', authorityFile, ...store], {
    stdio: 'ignore',
  });
  const property = '-Djavax.net.ssl.trustStore';
  return [`${property}=${file}`, `${property}Password=${password}`];
}

const CLIENT = 'io.grpc.testing.integration.TestServiceClient';
/** A second for each call is too little on a busy machine. */
const SOAK = [
  '--soak_iterations=100',
  '--soak_per_iteration_max_acceptable_latency_ms=60000',
  '--soak_overall_timeout_seconds=200',
];
const CASES = [...INTEROP_CASES, 'very_large_request', 'rpc_soak', 'channel_soak'];

test.each([
  ['Netty', 'cleartext', []],
  ['Netty', 'TLS', []],
  ['OkHttp', 'cleartext', ['--use_okhttp=true']],
  ['OkHttp', 'TLS', ['--use_okhttp=true']],
] as const)(
  'gRPC for Java on %s passes the interop cases through the gateway: %s',
  async (_, security, args) => {
    const { gateway, port, authorityFile } = await startInterop(security);
    const trust = security === 'TLS' ? trustOf(authorityFile) : [];
    const tls = `--use_tls=${security === 'TLS'}`;
    const server = ['--server_host=localhost', `--server_port=${port}`, tls, '--use_test_ca=false', ...args];
    const failed: string[] = [];
    for (const name of CASES) {
      const words = [...trust, '-cp', classPath, CLIENT, ...server, ...SOAK, `--test_case=${name}`];
      await promisify(execFile)('java', words).catch(failure => failed.push(`${name}: ${failure}`));
    }
    expect(failed).toEqual([]);
    expect(await gateway.counted('weir_http2_faults_total')).toEqual(new Map());
  },
);
