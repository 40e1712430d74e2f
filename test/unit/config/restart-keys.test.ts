import { expect, test } from 'vitest';
import { restartKeys, type Snapshot } from '../../../src/config/index.ts';
import { loadText, NEEDED } from '../../support/config-text.ts';

async function snapshotOf(text: string): Promise<Snapshot> {
  const loaded = await loadText(`${NEEDED}${text}`, { PASSWORD: 'marker-one', OTHER: 'marker-two' });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.snapshot;
}

const REDIS = `store: { redis: "redis://redis:6379", password: "\${PASSWORD}" }\n`;

test('nothing waits for a restart where nothing changed', async () => {
  expect(restartKeys(await snapshotOf(REDIS), await snapshotOf(REDIS))).toEqual([]);
});

test('a listener that is to move is told with both addresses', async () => {
  const from = await snapshotOf('listen: { http: "127.0.0.1:1", admin: "127.0.0.1:2" }\n');
  const to = await snapshotOf('listen: { http: "127.0.0.1:3", admin: off }\n');
  expect(restartKeys(from, to)).toEqual([
    { key: 'listen.http', running: '127.0.0.1:1', wanted: '127.0.0.1:3' },
    { key: 'listen.admin', running: '127.0.0.1:2', wanted: 'off' },
  ]);
});

test('another store is told with where it is', async () => {
  const wanted = 'redis redis:6379 (standalone), on_failure: local';
  expect(restartKeys(await snapshotOf(''), await snapshotOf(REDIS))).toEqual([
    { key: 'store', running: 'memory', wanted },
  ]);
});

test('another password of the store is told without either', async () => {
  const [key, ...others] = restartKeys(
    await snapshotOf(REDIS),
    await snapshotOf(REDIS.replace('PASSWORD', 'OTHER')),
  );
  expect(others).toEqual([]);
  expect(key?.wanted).toBe(`${key?.running}, with other settings or secrets`);
  expect(JSON.stringify(key)).not.toContain('marker');
});
