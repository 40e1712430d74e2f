import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig, type Snapshot } from '../../src/config/index.ts';
import { thisMachine } from '../../src/core/index.ts';
import { makeLogger } from '../../src/observe/index.ts';
import { startAlone } from '../../src/process/app/index.ts';
import { writeGatewayConfig } from '../support/gateway.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { collect } from '../support/memory.ts';
import { head } from '../support/requests.ts';
import { dear } from '../support/runs.ts';
import { tempFolder } from '../support/temp.ts';
import { sleep } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const MANY = 10_000;
/** Enough to tell what a route takes from what code does. */
const SEVERAL = 1_500;
/**
 * Resident memory of the process with them, beside one with ten. What serves are 500 bytes a route; most of the rest is V8's, which
 * gives back late what reading took: 43 to 48 MB were seen.
 */
const MAX_BYTES = 16_000_000 + 6_000 * MANY;
/** Heap a route when all that can be collected is: 2,850 were seen, a part of which V8 decides. */
const MAX_HEAP_BYTES = 4_000;

/** Keys of a gateway.yaml with so many routes, and as many lines in the limits.yaml that it names. */
async function partsWith(count: number) {
  const paths = Array.from({ length: count }, (_, n) => `/v1/service-${n}/things/**`);
  const limits = join(await tempFolder(), 'limits.yaml');
  await writeFile(
    limits,
    stringify({
      buckets: { all: { address: '1000/1s' } },
      routes: Object.fromEntries(paths.map(p => [p, 'all'])),
    }),
  );
  return { limits, routes: paths.map(path => ({ path, upstream: 'api', authentication: 'none' })) };
}

async function loadWith(count: number) {
  const path = await writeGatewayConfig({ upstreamPort: 9, config: await partsWith(count) });
  const loaded = await loadConfig(path, { env: {}, generation: 1 });
  if (!loaded.ok) throw new Error(`${dirname(path)} has errors`);
  return { path, loaded };
}

function heapBytes(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

dear(
  `${MANY} routes take less than ${MAX_BYTES / 1e6} MB of memory, and the last one is served`,
  async () => {
    const upstream = await startUpstream();
    const [few, many] = [
      await startGatewayProcess({ upstreamPort: upstream.port, config: await partsWith(10) }),
      await startGatewayProcess({ upstreamPort: upstream.port, config: await partsWith(MANY) }),
    ];
    const bytesMore = async () => (await many.memoryBytes()) - (await few.memoryBytes());
    await expect.poll(bytesMore).toBeLessThan(MAX_BYTES);
    expect((await many.ask(head(`GET /v1/service-${MANY - 1}/things/7`))).status).toBe(200);
  },
);

dear('a snapshot holds a route, and what the next one takes over of it, in less than 4 KB', async () => {
  const held = new Map<number, Snapshot>();
  const hold = async (count: number) => {
    const { snapshot } = (await loadWith(count)).loaded;
    expect(snapshot.routes.find('GET', '', '/v1/service-9/things/7')).not.toBeNull();
    held.set(count, snapshot);
  };
  await hold(SEVERAL);
  // What the load took is held for a moment longer than its result.
  for (let look = 0; look < 3; look++) {
    await sleep(5);
    collect();
  }
  const before = heapBytes();
  held.clear();
  const bytesEach = () => (before - heapBytes()) / SEVERAL;
  await expect.poll(bytesEach).toBeGreaterThan(100);
  expect(bytesEach()).toBeLessThan(MAX_HEAP_BYTES);
});

test('a running gateway keeps nothing of the load but the snapshot', async () => {
  const start = async () => {
    const { path, loaded } = await loadWith(100);
    const log = makeLogger('silent', { write: () => {} });
    const app = await startAlone(loaded.snapshot, {
      system: { ...thisMachine, clock: new FrozenClock() },
      log,
      source: { path, env: {}, loaded },
    });
    onTestFinished(async () => void (await app.drain()));
    return [loaded, loaded.warnings, loaded.hints].map(part => new WeakRef<object>(part));
  };
  const parts = await start();
  // A reference is held to the end of the turn in which it was made or read.
  await new Promise(setImmediate);
  collect();
  expect(parts.map(part => part.deref())).toEqual([undefined, undefined, undefined]);
});
