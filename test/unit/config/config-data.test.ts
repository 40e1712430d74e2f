import { serialize } from 'node:v8';
import { expect, test } from 'vitest';
import {
  changesInSteps,
  compileData,
  type LoadedConfig,
  loadConfig,
  type Snapshot,
  withoutTexts,
} from '../../../src/config/index.ts';
import { atOnce } from '../../../src/core/index.ts';
import { loadFiles, ROOMY } from '../../support/config-text.ts';
import { tempText } from '../../support/temp.ts';

const COUNT = 150;
const NUMBERS = Array.from({ length: COUNT }, (_, number) => number);

const GATEWAY = `
upstreams: { api: { url: "http://api:3000" } }
limits: limits.yaml
routes:
${NUMBERS.map(n => `  - { path: "/v1/s${n}/{id}", upstream: api, authentication: none }`).join('\n')}
`;
const LIMITS = `
global: off
buckets:
${NUMBERS.map(n => `  b${n}: { address: 100/1m }`).join('\n')}
routes:
${NUMBERS.map(n => `  "/v1/s${n}/{id}": b${n}`).join('\n')}
`;

async function sound(gateway: string, limits = LIMITS): Promise<LoadedConfig> {
  const loaded = await loadFiles({ 'gateway.yaml': gateway, 'limits.yaml': limits });
  if (!loaded.ok) throw new Error(loaded.diagnostics.map(({ message }) => message).join('\n'));
  return loaded;
}

/** What a thread that serves makes of files that another one has read. */
function after(before: Snapshot | null, loaded: LoadedConfig): Snapshot {
  return atOnce(compileData(structuredClone(loaded.data), (before?.generation ?? 1) + 1, before));
}

function routesIn({ keptRoutes }: Snapshot) {
  return keptRoutes.entries.map(({ value }) => value);
}

/** The buckets, routes and lines that are other objects than before. */
function made(now: Snapshot, before: Snapshot) {
  const others = <Item>(items: readonly Item[], old: readonly Item[]) => {
    const known = new Set(old);
    return items.filter(item => !known.has(item)).length;
  };
  return {
    buckets: others(now.limits.buckets, before.limits.buckets),
    lines: others(now.keptLimits.table.key, before.keptLimits.table.key),
    routes: others(routesIn(now), routesIn(before)),
    tables: Number(now.routes !== before.routes) + Number(now.preflightRoutes !== before.preflightRoutes),
    words: Number(now.keptWords !== before.keptWords),
    upstreams: others(now.upstreams, before.upstreams),
  };
}

const NOTHING = { buckets: 0, lines: 0, routes: 0, tables: 0, words: 0, upstreams: 0 };

test('one changed number of one bucket compiles that bucket and its line, and nothing else', async () => {
  const { snapshot: first } = await sound(GATEWAY);
  const changed = await sound(GATEWAY, LIMITS.replace('b7: { address: 100/1m }', 'b7: { address: 99/1m }'));
  const next = after(first, changed);
  expect(made(next, first)).toEqual({ ...NOTHING, buckets: 1, lines: 1 });
  expect(next.limits.routes.find('GET', '', '/v1/s7/1')?.value.bucket.sets.of('address').caller?.units).toBe(
    99,
  );
  expect(next.limits.routes.find('GET', '', '/v1/s8/1')?.value.bucket).toBe(
    first.limits.routes.find('GET', '', '/v1/s8/1')?.value.bucket,
  );
  expect(atOnce(changesInSteps(next.outline, first.outline))).toEqual([
    'stricter: bucket b7: each address 99 in 1m, before 100 in 1m',
  ]);
  expect(next.labels).toBe(first.labels);
  // What the lines and routes are made of was not even looked through.
  expect(next.keptLines).toBe(first.keptLines);
  expect(next.keptRoutes.all).toBe(first.keptRoutes.all);
  // The same from the second reload on.
  const again = after(next, await sound(GATEWAY));
  expect(made(again, next)).toEqual({ ...NOTHING, buckets: 1, lines: 1 });
});

test('one changed route compiles that route, and makes the tables again', async () => {
  const { snapshot: first } = await sound(GATEWAY);
  const next = after(
    first,
    await sound(GATEWAY.replace('/v1/s7/{id}", upstream: api', '/v1/s7/{id}", upstream: api, cors: false')),
  );
  expect(made(next, first)).toEqual({ ...NOTHING, routes: 1, tables: 2, words: 1 });
  expect(next.labels.buckets).toBe(first.labels.buckets);
});

test('what every route may depend on compiles every route again', async () => {
  const { snapshot: first } = await sound(GATEWAY);
  const slow = await sound(GATEWAY.replace('api:3000" }', 'api:3000", timeouts: { first_byte: 7s } }'));
  const next = after(first, slow);
  expect(made(next, first)).toEqual({ ...NOTHING, routes: COUNT, tables: 2, words: 1, upstreams: 1 });
  expect(new Set(routesIn(next).map(({ upstream }) => upstream))).toEqual(new Set(next.upstreams));
});

test('cors gives the preflights that a route leaves to its service a table, and takes it away', async () => {
  const open = GATEWAY.replace('authentication: none', 'authentication: none, cors: false');
  const { snapshot: without } = await sound(open);
  const next = after(without, await sound(`${open}cors: { origins: any }\n`));
  const takers = [without, next, after(next, await sound(open))].map(
    ({ preflightRoutes }) => preflightRoutes.find('GET', '', '/v1/s0/1')?.value.id,
  );
  expect(takers).toEqual([undefined, '/v1/s0/{id}', undefined]);
});

test('what every bucket may depend on compiles every bucket again', async () => {
  const { snapshot: first } = await sound(GATEWAY);
  const next = after(first, await sound(GATEWAY, LIMITS.replace('global: off', 'global: { address: 5/1s }')));
  expect(made(next, first)).toEqual({ ...NOTHING, buckets: COUNT, lines: COUNT });
  expect(next.limits.buckets.every(({ sets }) => sets.of('address').global?.units === 5)).toBe(true);
});

test('a line that comes and one that goes leave the other buckets as they are', async () => {
  const { snapshot: first } = await sound(GATEWAY);
  const more = await sound(
    GATEWAY,
    `${LIMITS.replace('  "/v1/s7/{id}": b7\n', '')}  "/v1/s8/{id}/more": b8\n`,
  );
  expect(made(after(first, more), first)).toMatchObject({ buckets: 1, lines: 2, routes: 0 });
});

test('what comes from another thread is what its own load would have made', async () => {
  const loaded = await sound(GATEWAY);
  const { snapshot } = loaded;
  const other = after(null, loaded);
  expect(other.hash).toBe(snapshot.hash);
  expect(other.files).toEqual(snapshot.files);
  expect(other.labels).toEqual(snapshot.labels);
  expect(other.outline.limits).toEqual(snapshot.outline.limits);
  expect(other.outline.routes.map(({ place }) => place)).toEqual(
    snapshot.outline.routes.map(({ place }) => place),
  );
  for (const path of [['buckets', 'b7', 'address'], ['routes', '/v1/s7/{id}'], ['patience']])
    expect(other.outline.places.of(path)).toEqual(snapshot.outline.places.of(path));
  expect(await other.outline.effective.read()).toEqual(await snapshot.outline.effective.read());
  expect(other.log.paths.rewrite('/v1/s7/secret', false, () => 'x')).toBe('/v1/s7/{x}');
});

test('threads share what there may be thousands of, and a message to a worker has little else', async () => {
  const { data } = await sound(GATEWAY);
  for (const { buffer } of [data.routes, data.buckets, data.lines])
    expect(buffer).toBeInstanceOf(SharedArrayBuffer);
  const copy = structuredClone(data);
  data.routes[0] = 0x21;
  expect(copy.routes[0]).toBe(0x21);
  expect(serialize(withoutTexts(data).head).length).toBeLessThan(12_000);
});

test('it takes many steps, however many items changed', async () => {
  const { snapshot } = await sound(GATEWAY);
  const other = await sound(
    GATEWAY.replaceAll('/v1/', '/v2/'),
    LIMITS.replaceAll('/v1/', '/v2/').replaceAll('100/1m', '9/1m'),
  );
  let steps = 0;
  for (const all = compileData(other.data, 2, snapshot); all.next().done !== true; ) steps++;
  expect(steps).toBeGreaterThan(6 * COUNT);
});

test('secrets and certificates arrive as they were read', async () => {
  const key = await tempText('key', 'a key of at least thirty-two characters');
  const path = await tempText(
    'gateway.yaml',
    `upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /**, upstream: api, authentication: none }]
log: { pseudonym_key_file: ${key} }
`,
  );
  const options = { env: {}, generation: 2, machine: ROOMY };
  const [here, there] = [
    await loadConfig(path, options),
    await loadConfig(path, { ...options, reader: 'thread' }),
  ];
  if (!here.ok || !there.ok) throw new Error('it has errors');
  const snapshot = atOnce(compileData(structuredClone(there.data), 2, here.snapshot));
  expect(snapshot.log.pseudonymKey).toEqual(here.snapshot.log.pseudonymKey);
  expect(Buffer.isBuffer(snapshot.log.pseudonymKey)).toBe(true);
});
