import { describe, expect, it } from 'vitest';
import { exceedsMemory, loadConfig, memoryInWords, type Snapshot } from '../../../../src/config/index.ts';
import type { Machine } from '../../../../src/core/index.ts';
import { diagnosticsIn, NEEDED, ROOMY } from '../../../support/config-text.ts';
import { tempText } from '../../../support/temp.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

async function snapshotOf(text: string, machine: Partial<Machine>, env = {}): Promise<Snapshot> {
  const path = await tempText('gateway.yaml', text);
  const whole = { ...ROOMY, ...machine };
  const loaded = await loadConfig(path, { env, generation: 1, machine: whole });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  return loaded.snapshot;
}

const limited = (mib: number) => ({ memoryLimitBytes: mib * MIB });

/** Limits of pods, by which the chart gives V8 60 percent. */
const pod = (mib: number) => ({ memoryLimitBytes: mib * MIB, heapLimitBytes: 0.6 * mib * MIB });

describe('the defaults of caps', () => {
  const IDENTITY = `identity_provider: { issuer: "https://id" }
access_tokens: { audience: api }
`;
  const SOCKETS = `upstreams: { api: { url: "http://api:3000" }, calls: { url: "http://calls", protocol: grpc } }
routes:
  - { path: /**, upstream: api }
  - { path: /live, upstream: api, websocket: true }
  - { grpc: a.B/C, upstream: calls }
`;
  const whole = (machine: Partial<Machine>, text: string) => snapshotOf(SOCKETS + IDENTITY + text, machine);

  it.each([
    [256, 1],
    [256, 2],
    [512, 1],
    [512, 2],
    [1_024, 1],
    [1_024, 4],
    [4_096, 8],
    [16_384, 16],
  ])('let clients take what there is at most: %i MiB, %i workers', async (mib, workers) => {
    const { memory, caps } = await whole(pod(mib), `workers: ${workers}\n`);
    expect(memory.usableBytes).toBe(mib * MIB);
    expect(memory.totalBytes).toBeLessThanOrEqual(memory.usableBytes);
    expect(exceedsMemory(memory)).toBe(false);
    expect(caps.connections).toBeGreaterThanOrEqual(200);
  });

  it('are the full numbers from 4 GiB on, and from 5 GiB on with four workers', async () => {
    for (const [mib, workers] of [
      [4_096, 2],
      [5_120, 4],
    ] as const) {
      const { caps, upstreams, identity } = await whole(pod(mib), `workers: ${workers}\n`);
      expect(caps).toMatchObject({
        ...{ connections: 20_000, connectionsPerAddress: 1_000 },
        ...{ requests: 10_000, requestsPerAddress: 1_000, limitKeys: 1_000_000 },
      });
      const [api, calls] = upstreams;
      expect(api?.pools).toMatchObject({ requests: { max: 1_024 }, websockets: { max: 10_000 } });
      expect(calls?.pools).toMatchObject({ grpc_calls: { max: 1_024 } });
      expect(identity?.providers[0]?.cache.maxTokens).toBe(50_000);
    }
  });

  it('are the same part of them all where there is less', async () => {
    const { caps, upstreams, identity } = await whole(pod(512), 'workers: 2\n');
    const part = caps.connections / 20_000;
    expect(part).toBeCloseTo(0.07, 2);
    const expected = {
      ...{ connections: 20_000, connectionsPerAddress: 1_000 },
      ...{ requests: 10_000, requestsPerAddress: 1_000, limitKeys: 1_000_000 },
    };
    for (const [name, full] of Object.entries(expected))
      expect(caps[name as keyof typeof expected] / full).toBeCloseTo(part, 2);
    expect((upstreams[0]?.pools.websockets.max ?? 0) / 10_000).toBeCloseTo(part, 2);
    expect(upstreams[0]?.pools.requests.max).toBe(Math.ceil(caps.requests / 2));
    expect((identity?.providers[0]?.cache.maxTokens ?? 0) / 50_000).toBeCloseTo(part, 2);
  });

  it('divide what there is for tokens with those of an opaque kind', async () => {
    const provider = `identity_provider: { issuer: "https://id", client_id: g, client_secret: "$${'{SECRET}'}" }\n`;
    const tokensWith = async (opaque: string) => {
      const tokens = `access_tokens: { audience: api, opaque_tokens: ${opaque} }\n`;
      const text = `${NEEDED.replace(', authentication: none', '')}${provider}${tokens}`;
      const { identity, memory } = await snapshotOf(text, pod(512), { SECRET: 'hunter2' });
      expect(exceedsMemory(memory)).toBe(false);
      return identity?.providers[0]?.cache.maxTokens ?? 0;
    };
    expect(await tokensWith('{}')).toBe(Math.floor((await tokensWith('off')) / 2));
  });

  it('divide what there is for WebSockets among the upstreams that serve them', async () => {
    const upstream = (name: string) => `${name}: { url: "http://${name}" }`;
    const route = (name: string) =>
      `{ path: /${name}, upstream: ${name}, authentication: none, websocket: true }`;
    const names = ['a', 'b', 'c', 'd'];
    const text = `upstreams: { ${names.map(upstream).join(', ')} }\nroutes: [${names.map(route).join(', ')}]\n`;
    const { upstreams, memory } = await snapshotOf(text, pod(512));
    const one = await snapshotOf(NEEDED.replace('none }', 'none, websocket: true }'), pod(512));
    const [each, alone] = [upstreams, one.upstreams].map(([first]) => first?.pools.websockets.max ?? 0);
    expect(each).toBe(Math.floor((alone ?? 0) / 4));
    expect(exceedsMemory(memory)).toBe(false);
  });

  it('follow the heap of V8 where that is less than half of the memory', async () => {
    const { memory } = await snapshotOf(NEEDED, { heapLimitBytes: 300 * MIB });
    expect(memory.usableBytes).toBe(600 * MIB);
  });

  it('have a lower end, however little there is', async () => {
    const { caps, memory } = await snapshotOf(NEEDED, pod(100));
    expect(caps).toMatchObject({ connections: 200, requests: 100, connectionsPerAddress: 10 });
    expect(exceedsMemory(memory)).toBe(true);
  });

  it('leave what is written as it is, and what it lets clients take is told', async () => {
    const { caps, memory } = await snapshotOf(
      `${NEEDED}caps: { connections: "\${N}", limit_keys: 70000 }\n`,
      pod(512),
      {
        N: '20000',
      },
    );
    expect(caps).toMatchObject({ connections: 20_000, limitKeys: 70_000 });
    expect(memory.needs[0]).toEqual({ key: 'caps.connections', bytes: 20_000 * 65_536 });
    expect(memoryInWords(memory)).toMatch(
      /^15\d\d MiB of 512 MiB, most of it caps.connections \(1250 MiB\)$/,
    );
  });

  it('are shown among the effective settings, in whole numbers', async () => {
    const { outline } = await snapshotOf(NEEDED, pod(512));
    const { gateway } = await outline.effective.read();
    expect(gateway).toMatchObject({ caps: { buffered: '128MiB', connections: expect.any(Number) } });
  });
});

describe('caps.buffered', () => {
  const bufferedOn = async (machine: Partial<Machine>, text = '', env = {}) =>
    (await snapshotOf(NEEDED + text, machine, env)).caps.bufferedBytes / MIB;

  it('is a quarter of the memory that the process may use', async () => {
    expect(await bufferedOn(limited(1_024))).toBe(256);
    expect(await bufferedOn({ memoryBytes: 3 * GIB })).toBe(768);
    expect(await bufferedOn({ memoryBytes: 1 * GIB, ...limited(2_048) })).toBe(256);
  });

  it('is at least 64 MiB and at most 1 GiB', async () => {
    expect(await bufferedOn(limited(128))).toBe(64);
    expect(await bufferedOn({})).toBe(1_024);
  });

  it('is what the file says', async () => {
    expect(await bufferedOn(limited(1_024), 'caps: { buffered: 1MiB }\n')).toBe(1);
    expect(await bufferedOn(limited(1_024), `caps: { buffered: "\${B}" }\n`, { B: '2GiB' })).toBe(2_048);
  });

  it('keeps what the file says of other caps, variables included', async () => {
    const text = `${NEEDED}caps: { requests: "\${N}", fields: 50 }\n`;
    const { caps } = await snapshotOf(text, limited(1_024), { N: '7' });
    expect(caps).toMatchObject({ requests: 7, fields: 50, bufferedBytes: 256 * MIB });
  });

  it('is at least a MiB, in words', async () => {
    expect(await diagnosticsIn(`${NEEDED}caps: { buffered: 1023KiB }\n`)).toEqual([
      '3:19: caps.buffered: expected a size from 1MiB to 1024GiB, found "1023KiB"',
    ]);
    expect(await diagnosticsIn(`${NEEDED}caps: { buffered: }\n`)).toEqual([
      expect.stringContaining('caps.buffered: expected a size such as'),
    ]);
  });
});
