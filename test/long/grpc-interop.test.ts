import { beforeAll, expect, it } from 'vitest';
import { buildInterop, INTEROP_CASES, runInterop, startInterop } from '../support/grpc-interop.ts';
import { runs } from '../support/runs.ts';

/** Messages of one stream: 1,200,000 take a client some seconds. */
const MESSAGES = runs(150_000);

beforeAll(buildInterop);

it.each(['cleartext', 'TLS'] as const)(
  'the gateway carries the interop cases of gRPC between a client and a server in Go: %s',
  async security => {
    const { port, authorityFile } = await startInterop(security);
    const input = INTEROP_CASES.map(name => `${name}\n`).join('');
    const passed = await runInterop(input, 'client', port, authorityFile);
    expect(passed).toEqual(INTEROP_CASES.map(name => `ok ${name}`));
  },
);

it(
  'the gateway carries small messages as fast as a client in Go sends them, and takes them for no flood',
  async () => {
    const { gateway, port } = await startInterop();
    expect(await runInterop('', 'stream', port, String(MESSAGES))).toEqual([String(MESSAGES)]);
    expect(await gateway.counted('weir_http2_faults_total')).toEqual(new Map());
  },
  60_000 + MESSAGES,
);
