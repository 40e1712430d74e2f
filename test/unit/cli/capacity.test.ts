import { describe, expect, it } from 'vitest';
import { capacityInWords, capacityOf, parseLoad } from '../../../src/cli/capacity.ts';
import type { CapacityFigures } from '../../../src/cli/capacity-figures.ts';
import { loadConfig, type Snapshot } from '../../../src/config/index.ts';
import type { Machine } from '../../../src/core/index.ts';
import { loadFiles, NEEDED, ROOMY } from '../../support/config-text.ts';
import { runWeir } from '../../support/run-weir.ts';
import { tempText } from '../../support/temp.ts';

const MIB = 2 ** 20;
const FIGURES: CapacityFigures = {
  requestMicroseconds: {
    ...{ plain: 20, tokenAndLimits: 5, log: 4, tls: 10 },
    ...{ http2: 1, grpc: 2, redis: 8, ofRedis: 14 },
  },
  connectionBytes: { plain: 10_000, tls: 60_000, webSocket: 20_000 },
  redisCounterBytes: 400,
  redisMainBytes: 1_500,
};
const SOCKETS = NEEDED.replace('none }', 'none, websocket: true }');

async function snapshotOf(text: string, machine: Partial<Machine> = {}): Promise<Snapshot> {
  const path = await tempText('gateway.yaml', text);
  const loaded = await loadConfig(path, { env: {}, generation: 1, machine: { ...ROOMY, ...machine } });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  return loaded.snapshot;
}

const capacity = async (text: string, load: string, machine: Partial<Machine> = {}) =>
  capacityOf(await snapshotOf(text, machine), parseLoad(load), FIGURES);

describe('the pods that a load takes', () => {
  it('are those whose workers have time for its requests at seven tenths', async () => {
    // 20 + 5 of the global limit + 4 of the log.
    const found = await capacity(NEEDED, 'requests=100000');
    expect(found).toMatchObject({
      requestMicroseconds: 29,
      cores: 2.9,
      pods: 5,
      by: 'processor',
      redis: null,
    });
    expect((await capacity(`${NEEDED}workers: 4\n`, 'requests=100000')).pods).toBe(2);
    expect((await capacity(`${NEEDED}log: { access: false }\n`, 'requests=100000')).cores).toBeCloseTo(2.5);
  });

  it('are those that have memory for its WebSockets', async () => {
    const small = { memoryLimitBytes: 512 * MIB };
    const text = `${SOCKETS.replace('3000" }', '3000", max_websockets: 100000 }')}caps: { connections: 100000 }\n`;
    const found = await capacity(text, 'websockets=50000', small);
    // 0.9 x 512 - 120 - 128 / 4 = 308.8 MiB, of which each takes 20,000 bytes.
    expect(found).toMatchObject({ pods: 4, by: 'memory' });
    expect(found.memoryBytesOfPod / MIB).toBeCloseTo(152 + (50_000 * 20_000) / 4 / MIB, 0);
  });

  it('are those whose caps and descriptors admit its WebSockets', async () => {
    expect(await capacity(SOCKETS, 'websockets=45000')).toMatchObject({ pods: 5, by: 'max_websockets' });
    const few = await capacity(SOCKETS, 'websockets=10000', { descriptorLimit: 4_096 });
    expect(few.pods).toBeGreaterThanOrEqual(6);
  });

  it('count its callers in Redis if there is one, and otherwise in each', async () => {
    const inMemory = await capacity(NEEDED, 'callers=1000000');
    expect(inMemory).toMatchObject({ pods: 1, redis: null });
    const idle = await capacity(NEEDED, 'requests=0');
    expect(inMemory.memoryBytesOfPod - idle.memoryBytesOfPod).toBe(300e6);
    const shared = await capacity(
      `${NEEDED}store: { redis: "redis://r:6379" }\n`,
      'requests=10000,callers=1000000',
    );
    expect(shared.redis).toEqual({ cores: 0.14, bytes: 4e8 });
    expect(shared.requestMicroseconds).toBe(37);
  });

  it.each([
    ['global: { address: 9/1m }', 400],
    ['global: off', 0],
    ['buckets: { a: { address: 9/1m } }\nroutes: { /a: a }', 800],
    ['global: off\nbuckets: { a: { main: id, address: 9/1m } }\nroutes: { "/a/{id}": a }', 1_500],
    [
      'global: { address: [9/1s, 90/day] }\nbuckets: { a: { user: [9/1m, 90/day, 900/month] } }\nroutes: { /a: a }',
      2_000,
    ],
    ['global: off\nbuckets: { a: { main: id, user: [9/1m, 90/day] } }\nroutes: { "/a/{id}": a }', 1_900],
    [
      'buckets: { a: { main: id, address: 9/1m }, b: { address: 9/1m } }\nroutes: { "/a/{id}": a, /b: b }',
      1_900,
    ],
  ])('count in Redis what each caller takes of it: %s', async (limits, bytes) => {
    const text = `${NEEDED}limits: limits.yaml\nstore: { redis: "redis://r:6379" }\n`;
    const loaded = await loadFiles({ 'gateway.yaml': text, 'limits.yaml': `${limits}\n` });
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
    expect(capacityOf(loaded.snapshot, parseLoad('callers=10'), FIGURES).redis?.bytes).toBe(10 * bytes);
  });

  it('are no number where nothing has room', async () => {
    const tiny = await capacity(SOCKETS, 'websockets=1000,callers=9000000', { memoryLimitBytes: 300 * MIB });
    expect([tiny.pods, tiny.by]).toEqual([Infinity, 'memory']);
    expect(capacityInWords(tiny, parseLoad('websockets=1000'))).toContain(
      'more than any number of pods, by memory',
    );
  });
});

describe('weir check --capacity', () => {
  it('says the sum after what it found, and as JSON', async () => {
    const file = await tempText('gateway.yaml', NEEDED);
    const words = ['check', file, '--capacity', 'requests=20000,websockets=0,callers=5000'];
    const { code, out } = await runWeir(words);
    expect(code).toBe(0);
    expect(out).toMatch(
      /\ncapacity for 20000 requests a second, 0 WebSockets, 5000 callers: \d+ pods?, by processor/,
    );
    expect(out).toMatch(
      /\n {2}processor: [\d.]+ µs a request, [\d.]+ cores in all\n {2}memory of a pod: \d+ MiB\n/,
    );
    const json = JSON.parse((await runWeir([...words, '--format', 'json'])).out);
    expect(json.capacity).toMatchObject({
      requests: 20_000,
      callers: 5_000,
      pods: expect.any(Number),
      redis: null,
    });
  });

  it.each(['requests', 'requests=many', 'pods=3', ''])('does not understand "%s"', async load => {
    const { code, err } = await runWeir([
      'check',
      await tempText('gateway.yaml', NEEDED),
      '--capacity',
      load,
    ]);
    expect(code).toBe(64);
    expect(err).toContain('in --capacity: expected requests=20000,websockets=30000,callers=5000000');
  });
});
