import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { buildInterop, startInterop } from '../support/grpc-interop.ts';
import { ensureInstalled } from '../support/installed.ts';
import { startUpstream } from '../support/wire/index.ts';

const FOLDER = join(import.meta.dirname, 'rust-h2');
const BUILT = join(import.meta.dirname, '../../node_modules/.cache/rust-h2');

beforeAll(() => {
  ensureInstalled({ command: 'cargo', versionArgs: ['--version'], packages: ['cargo'] });
  execFileSync('cargo', ['build', '--quiet', '--locked', '--target-dir', BUILT], {
    cwd: FOLDER,
    stdio: 'inherit',
  });
  buildInterop();
});

test('the crate h2 of Rust is served whole', async () => {
  const upstream = await startUpstream({
    keepBytes: 4_000_000,
    script: async exchange => {
      await exchange.received();
      await exchange.answer(200, [], exchange.request.body);
    },
  });
  const { gateway, port } = await startInterop('cleartext', upstream.port);
  const program = join(BUILT, 'debug/weir-h2-client');
  const { stdout } = await promisify(execFile)(program, [String(gateway.port), port]);
  expect(stdout.trim().split('\n')).toEqual([
    'ok streams side by side',
    'ok small windows',
    'ok frames of a megabyte',
    'ok no table for headers',
    'ok large bodies',
    'ok resets',
    'ok pings',
    'ok trailers',
  ]);
  expect(await gateway.counted('weir_http2_faults_total')).toEqual(new Map());
});
