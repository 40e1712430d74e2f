import { writeFile } from 'node:fs/promises';
import { queryObjects } from 'node:v8';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../src/config/index.ts';
import { thisMachine } from '../../src/core/index.ts';
import { makeLogger } from '../../src/observe/index.ts';
import { startAlone } from '../../src/process/app/index.ts';
import { changeConfig, configPart, limitsFile, statusOf } from '../support/edit-config.ts';
import { writeGatewayConfig } from '../support/gateway.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { collect, usedBytes } from '../support/memory.ts';
import { head } from '../support/requests.ts';
import { runs } from '../support/runs.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { openSocket, startWsServer } from '../support/web-sockets.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const WARM_UP = runs(500, 20);
const RELOADS = runs(1_000, 20);
/** What one reload may seem to leave behind: a whole generation is 900 objects, and connections to the upstream are 5. */
const MAX_OBJECTS = 20;
const MAX_FUNCTIONS = 5;
/** In bytes, less than half of what it would be if one of its parts were kept. */
const MAX_BYTES = 2_500;
/** Few reloads do not stand out from the noise of a heap, and functions are objects as well: to count them takes a second. */
const isWhole = RELOADS >= 1_000;

function heapBytes(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** How many there are, once all that can be collected is. */
const countOf = (kind: ObjectConstructor | FunctionConstructor) => queryObjects(kind, { format: 'count' });

const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;

test(`${RELOADS} reloads leave nothing behind`, async () => {
  const issuer = await startIssuer();
  const { gateway, upstream } = await startGatewayOf(issuer, {
    config: { log: { level: 'silent', access: false } },
    // Only what is asked for is a reload: a busy machine may take long between the changes of two files.
    settleMs: 3_600_000,
  });
  const provider = await configPart(gateway, 'identity_provider');
  const client = await gateway.connect();
  const limits = await limitsFile(gateway);

  const reload = async (n: number) => {
    // Numbers and periods, so that counters are kept and given up; every tenth time what keeps connections and timers.
    const bucket = { main: 'id', user: `${10 + n}/${1 + (n % 5)}m` };
    await writeFile(
      limits,
      stringify({ global: 'off', buckets: { b: bucket }, routes: { 'GET /things/{id}': 'b' } }),
    );
    if (n % 10 === 0) {
      await changeConfig(gateway, {
        upstreams: { api: { url: `http://127.0.0.1:${upstream.port}`, keep_alive: `${1_000 + n}ms` } },
        identity_provider: { ...provider, timeout: `${1_000 + n}ms` },
      });
    }
    await gateway.app.reload();
    if (n % 10 === 0) expect((await client.ask(head('GET /things/1', issuer.bearer()))).status).toBe(200);
    if (n % 100 === 0) upstream.forget();
  };

  let n = 1;
  while (n <= WARM_UP) await reload(n++);
  const [heapBefore, timersBefore] = [isWhole ? heapBytes() : 0, timers()];
  const [objectsBefore, functionsBefore] = [countOf(Object), isWhole ? countOf(Function) : 0];
  while (n <= WARM_UP + RELOADS) await reload(n++);
  await waitFor('what is gone has drained', () => upstream.openConnections.length <= 1);
  upstream.forget();
  expect((await statusOf(gateway)).configuration.generation).toBe(1 + WARM_UP + RELOADS);
  expect((countOf(Object) - objectsBefore) / RELOADS).toBeLessThan(MAX_OBJECTS);
  if (isWhole) expect((countOf(Function) - functionsBefore) / RELOADS).toBeLessThan(MAX_FUNCTIONS);
  if (isWhole) expect((heapBytes() - heapBefore) / RELOADS).toBeLessThan(MAX_BYTES);
  expect(timers() - timersBefore).toBeLessThan(20);
});

test('an open WebSocket keeps no tokens of others that a replaced configuration remembered', async () => {
  const issuer = await startIssuer();
  const server = (await startWsServer()).echo();
  const { gateway } = await startGatewayOf(issuer, {
    routes: [
      {
        ...{ path: '/live', upstream: 'api', websocket: true },
        request_headers: { set: { 'X-Note': '{claim.note}' } },
      },
    ],
    config: {
      log: { level: 'silent', access: false },
      upstreams: { api: { url: `http://127.0.0.1:${server.port}` } },
    },
    settleMs: 3_600_000,
  });
  const tokens = await configPart(gateway, 'access_tokens');
  const client = await gateway.connect();
  const note = 'n'.repeat(10_000);
  const users = Array.from({ length: 60 }, (_, i) => issuer.bearer({ sub: `user-${i}`, note }));
  const sizes: number[] = [];
  for (let n = 1; n <= 4; n += 1) {
    await openSocket(gateway, '/live', { headers: { Authorization: issuer.bearer().slice(15) } });
    for (const user of users) await client.ask(head('GET /', user));
    await changeConfig(gateway, { access_tokens: { ...tokens, leeway: `${30 + n}s` } });
    await gateway.app.reload();
    sizes.push(usedBytes());
  }
  // Sixty claims of 10 KB a reload would be 1.8 MB more than the 1.7 MB that clients and services of the test keep.
  expect((sizes[3] ?? 0) - (sizes[0] ?? 0)).toBeLessThan(2_600_000);
});

test('a gateway that has drained is forgotten, whatever watches its process', async () => {
  const run = async () => {
    const loaded = await loadConfig(await writeGatewayConfig({ upstreamPort: 1 }), {
      env: {},
      generation: 1,
    });
    if (!loaded.ok) throw new Error('the configuration has errors');
    const log = makeLogger('silent', { write: () => {} });
    const system = { ...thisMachine, clock: new FrozenClock() };
    const app = await startAlone(loaded.snapshot, { system, log });
    await app.drain();
    return new WeakRef(app);
  };
  const drained = [await run(), await run(), await run()];
  await waitFor('all but the last, which a frame of the stack may still name, are collected', () => {
    collect();
    return drained.filter(app => app.deref() !== undefined).length <= 1;
  });
});
