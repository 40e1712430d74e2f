import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { buildGo } from '../support/go.ts';
import { startTlsGateway } from '../support/tls-gateway.ts';
import { type Script, startUpstream } from '../support/wire/index.ts';

const run = promisify(execFile);

/** What is no preface, in cleartext, is HTTP/1.1 where a listener speaks both, and gets an answer. */
const NO_PREFACE = 'http2/3.5/2';
const ALL_BUT_NO_PREFACE = [
  'generic',
  'http2/3.5/1',
  ...[4, 5, 6, 7, 8].map(each => `http2/${each}`),
  'hpack',
];

/** h2spec wants a body that small windows cut into pieces. */
const answer: Script = async exchange => {
  await exchange.received();
  await exchange.answer(200, [], 'x'.repeat(1_000));
};

let program = '';
beforeAll(() => {
  program = buildGo(join(import.meta.dirname, 'h2spec'), 'github.com/summerwind/h2spec/cmd/h2spec');
});

/** What h2spec says behind its last case: what failed, and how many passed. */
async function verdict(port: number, ...args: string[]): Promise<string> {
  const said = await run(program, ['--strict', '-P', '/a', '-p', String(port), ...args]).catch(
    failure => failure,
  );
  const { stdout } = said as { readonly stdout: string };
  return stdout
    .slice(stdout.search(/Failures:|Finished in/))
    .replace(/Finished in .*\n/, '')
    .trim();
}

test('h2spec finds no fault in a gateway over TLS', async () => {
  const { gateway } = await startTlsGateway({ script: answer });
  expect(await verdict(gateway.port, '--tls', '--insecure')).toBe(
    '146 tests, 146 passed, 0 skipped, 0 failed',
  );
});

test('h2spec finds no fault in a gateway in cleartext', async () => {
  const upstream = await startUpstream(answer);
  const listen = { http: { address: '127.0.0.1:0', h2c: true }, grpc: '127.0.0.1:0', admin: '127.0.0.1:0' };
  const gateway = await startGateway({ upstreamPort: upstream.port, config: { listen } });
  expect(await verdict(gateway.port, ...ALL_BUT_NO_PREFACE)).toBe(
    '145 tests, 145 passed, 0 skipped, 0 failed',
  );
  expect(await verdict(gateway.app.addresses.grpc?.port ?? 0, NO_PREFACE)).toBe(
    '1 tests, 1 passed, 0 skipped, 0 failed',
  );
});
