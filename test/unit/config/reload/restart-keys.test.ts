import { readFile } from 'node:fs/promises';
import { describe, expect, it, test } from 'vitest';
import { command as serve } from '../../../../src/cli/serve.ts';
import {
  fixedValuesOf,
  type JsonSchema,
  jsonSchemaOf,
  RESTART_KEYS,
  type RestartKey,
  restartKeys,
  type Snapshot,
} from '../../../../src/config/index.ts';
import { parseTranslator } from '../../../../src/wire/http/index.ts';
import { loadText, NEEDED } from '../../../support/config-text.ts';

async function snapshotOf(text: string): Promise<Snapshot> {
  const loaded = await loadText(`${NEEDED}${text}`, { PASSWORD: 'marker-one', OTHER: 'marker-two' });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  return loaded.snapshot;
}

function changed(started: Snapshot, latest: Snapshot): readonly RestartKey[] {
  return restartKeys(fixedValuesOf(started), latest);
}

const REDIS = `store: { redis: "redis://redis:6379", password: "\${PASSWORD}" }\n`;

test('nothing waits for a restart where nothing changed', async () => {
  expect(changed(await snapshotOf(REDIS), await snapshotOf(REDIS))).toEqual([]);
});

test('a moved listener is reported with both addresses', async () => {
  const from = await snapshotOf('listen: { http: "127.0.0.1:1", admin: "127.0.0.1:2" }\n');
  const to = await snapshotOf('listen: { http: "127.0.0.1:3", grpc: "127.0.0.1:4", admin: off }\n');
  expect(changed(from, to)).toEqual([
    { key: 'listen.http', running: '127.0.0.1:1', wanted: '127.0.0.1:3' },
    { key: 'listen.grpc', running: 'off', wanted: '127.0.0.1:4' },
    { key: 'listen.admin', running: '127.0.0.1:2', wanted: 'off' },
  ]);
});

test('another store is reported with its address', async () => {
  const wanted = 'redis redis:6379 (standalone), on_failure: local';
  expect(changed(await snapshotOf(''), await snapshotOf(REDIS))).toEqual([
    { key: 'store', running: 'memory', wanted },
  ]);
});

test('another number of workers is reported, and how auto was understood', async () => {
  const [one, two] = [await snapshotOf(''), await snapshotOf('workers: 2')];
  const auto = { ...one, workers: { count: 3, why: 'processors: 3' } };
  expect(changed(one, two)).toEqual([{ key: 'workers', running: '1', wanted: '2' }]);
  expect(changed(two, auto)).toEqual([{ key: 'workers', running: '2', wanted: '3 (auto, processors: 3)' }]);
});

test('another warm-up is reported, since only a new process warms up', async () => {
  const [off, on] = [await snapshotOf(''), await snapshotOf('warm_up: 500ms\n')];
  expect(changed(off, on)).toEqual([{ key: 'warm_up', running: 'off', wanted: '500ms' }]);
});

test('other addresses that count as one are reported, though they stand in limits.yaml', async () => {
  const [from, to] = [await snapshotOf(''), await snapshotOf('')];
  const withKeying = (...prefixes: string[]) => {
    const writtenKeying = { ipv6Prefix: 56, translators: prefixes.map(parseTranslator) };
    return { ...to, limits: { ...to.limits, writtenKeying } };
  };
  const prefix = { key: 'ipv6_prefix', running: '64', wanted: '56' };
  expect(changed(from, withKeying())).toEqual([prefix]);
  const [one, other] = ['2001:db8:1::/96', '2001:db8:2::/96'];
  expect(changed(from, withKeying(one, other))).toEqual([
    prefix,
    { key: 'nat64_prefixes', running: 'none', wanted: `${one}, ${other}` },
  ]);
  expect(changed(withKeying(one, other), withKeying(other, one))).toEqual([]);
});

test('a changed password of the store needs no restart; another prefix does, and shows neither value', async () => {
  const other = REDIS.replace('PASSWORD', 'OTHER');
  expect(changed(await snapshotOf(REDIS), await snapshotOf(other))).toEqual([]);
  const [key, ...others] = changed(
    await snapshotOf(REDIS),
    await snapshotOf(other.replace('password:', 'prefix: "other:", password:')),
  );
  expect(others).toEqual([]);
  expect(key?.wanted).toBe(`${key?.running}, with other settings or secrets`);
  expect(JSON.stringify(key)).not.toContain('marker');
});

describe('what waits for a restart', () => {
  const WAITS = /take effect after a restart/;

  it('is named by docs/configuration.md', async () => {
    const document = (await readFile('docs/configuration.md', 'utf8')).replaceAll(/\s+/g, ' ');
    const [, list = ''] =
      /Changes of these keys take effect after a restart: ((?:`[\w.]+`(?:, )?)+)\./.exec(document) ?? [];
    expect(list.split(', ')).toEqual(RESTART_KEYS.gateway.map(key => `\`${key}\``));
  });

  it('is named by "weir serve --help"', () => {
    const help = serve.help.replaceAll(/\s+/g, ' ');
    expect(help).toContain('Changes of these keys take effect after a restart');
    expect(help).toContain(`: ${RESTART_KEYS.gateway.join(', ')}. `);
  });

  it('is marked in the reference, and nothing else is', async () => {
    const lines = (await readFile('config/gateway.yaml', 'utf8')).split('\n');
    const marked: string[] = [];
    let section = '';
    let comment = '';
    for (const line of lines) {
      const [, indent = '', key] = /^( *)#?(\w+):/.exec(line) ?? [];
      if (/^ *#(?!\w+:)/.test(line)) comment += line.replace(/^ *#/, '');
      if (key === undefined) continue;
      if (indent === '') section = key;
      if (WAITS.test(comment)) marked.push(indent === '' ? key : `${section}.${key}`);
      comment = '';
    }
    expect(marked.toSorted()).toEqual(RESTART_KEYS.gateway.toSorted());
  });

  it('is marked in the JSON Schema, and nothing else is', () => {
    const found = [...describedKeys(jsonSchemaOf('gateway'))].filter(([, text]) => WAITS.test(text));
    expect(found.map(([key]) => key).toSorted()).toEqual(RESTART_KEYS.gateway.toSorted());
  });
});

/** Every key with its description. */
function* describedKeys(
  schema: JsonSchema,
  path: readonly string[] = [],
): Generator<readonly [string, string]> {
  yield [path.join('.'), schema.description ?? ''];
  for (const [key, part] of Object.entries(schema.properties ?? {}))
    yield* describedKeys(part as JsonSchema, [...path, key]);
  for (const way of schema.anyOf ?? []) yield* describedKeys({ ...way, description: '' }, path);
}
