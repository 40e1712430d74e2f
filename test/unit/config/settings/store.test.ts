import { describe, expect, it } from 'vitest';
import type { StoreModel } from '../../../../src/config/index.ts';
import { diagnosticsIn, diagnosticsOf, loadFiles, loadText, NEEDED } from '../../../support/config-text.ts';

const withStore = (store: string) => `${NEEDED}store: ${store}\n`;

async function storeOf(store: string, files = {}, env = {}): Promise<StoreModel> {
  const loaded = await loadFiles({ 'gateway.yaml': withStore(store), ...files }, env);
  if (!loaded.ok) throw new Error(diagnosticsOf(loaded).join('\n'));
  return loaded.snapshot.store;
}

/** Diagnostics without their place, which is the line of `store` for all. */
const diagnosticsOfStore = async (store: string, env = {}) =>
  (await diagnosticsIn(withStore(store), env)).map(diagnostic => diagnostic.replace(/^\d+:\d+: /, ''));

describe('store', () => {
  it('is the memory of each gateway unless told otherwise', async () => {
    const loaded = await loadText(NEEDED);
    expect(loaded.ok && loaded.snapshot.store).toEqual({ kind: 'memory' });
    expect(await storeOf('memory')).toEqual({ kind: 'memory' });
  });

  it('is a Redis, with every default', async () => {
    expect(await storeOf('{ redis: "redis://redis.internal" }')).toEqual({
      kind: 'redis',
      options: {
        servers: { kind: 'standalone', address: { host: 'redis.internal', port: 6_379 }, database: 0 },
        credentials: { user: null, password: null },
        tls: null,
        prefix: 'weir:',
        budgetMs: 50,
      },
      policy: 'local',
      replicas: 1,
    });
  });

  it('takes user, port and database from the address, and the password from a file', async () => {
    const store = await storeOf('{ redis: "redis://we%40ir@[::1]:7000/3", password_file: pw }', {
      pw: 'hunter2-hunter2\n',
    });
    expect(store).toMatchObject({
      options: {
        servers: { address: { host: '::1', port: 7_000 }, database: 3 },
        credentials: { user: 'we@ir', password: 'hunter2-hunter2' },
      },
    });
  });

  it('takes the password from a variable', async () => {
    const store = await storeOf(
      '{ redis: "redis://redis", password: "$' + '{PW}" }',
      {},
      { PW: 'hunter2-hunter2' },
    );
    expect(store).toMatchObject({ options: { credentials: { password: 'hunter2-hunter2' } } });
  });

  it('may be found through sentinels', async () => {
    const store = await storeOf(
      '{ redis: "redis://main", mode: sentinel, nodes: ["s1:26379", "s2:26379"], sentinel_user: weir, sentinel_password_file: pw }',
      { pw: 'sentinel-password' },
    );
    expect(store).toMatchObject({
      options: {
        servers: {
          kind: 'sentinel',
          master: 'main',
          sentinels: [
            { host: 's1', port: 26_379 },
            { host: 's2', port: 26_379 },
          ],
          credentials: { user: 'weir', password: 'sentinel-password' },
        },
      },
    });
  });

  it('may be a cluster', async () => {
    expect(await storeOf('{ redis: "rediss://r1:7000", mode: cluster, nodes: ["r2:7000"] }')).toMatchObject({
      options: {
        tls: {},
        servers: {
          kind: 'cluster',
          nodes: [
            { host: 'r1', port: 7_000 },
            { host: 'r2', port: 7_000 },
          ],
        },
      },
    });
  });
});

describe('an error in store', () => {
  it.each([
    ['redis', 'expected memory, or a map such as { redis: "rediss://weir@redis.internal:6379" }, found text'],
    ['{ mode: single }', 'missing key "redis"'],
    ['{ redis: "http://redis" }', 'write an address such as redis://redis.internal:6379'],
    ['{ redis: "redis://a:b:c@redis" }', 'an address must not contain a password'],
    ['{ redis: "redis://redis", password: secret-secret }', 'this file must not contain secrets'],
    [
      '{ redis: "redis://redis", password: "$' + '{GONE:-secret-secret}" }',
      'this file must not contain secrets',
    ],
    ['{ redis: "redis://redis", nodes: ["a:1"] }', '"nodes" has no effect with mode: single'],
    ['{ redis: "redis://redis", mode: sentinel }', 'mode: sentinel needs the sentinels'],
    ['{ redis: "redis://redis", sentinel_user: a }', '"sentinel_user" has no effect with mode: single'],
    ['{ redis: "redis://redis/1", mode: cluster }', 'a Redis Cluster has only database 0'],
    ['{ redis: "redis://redis", tls: { ca_file: gateway.yaml } }', '"ca_file" has no effect without TLS'],
    ['{ redis: "rediss://redis", tls: { ca_file: gateway.yaml } }', 'the file contains no PEM certificate'],
    ['{ redis: "rediss://redis", tls: { ca_file: nowhere.pem } }', 'nowhere.pem'],
    ['{ redis: "redis://redis", prefix: "a{b}" }', 'expected up to 64 letters'],
    ['{ redis: "redis://redis", on_failure: opne }', 'did you mean "open"'],
    ['{ redis: "redis://redis", time_out: 50ms }', 'did you mean "timeout"'],
    ['{ redis: "redis://redis", password_file: nowhere }', 'store.password_file: '],
  ])('is reported: %s', async (store, message) => {
    const diagnostics = await diagnosticsOfStore(store);
    expect(diagnostics.join('\n')).toContain(message.replace('nowhere.pem', 'store.tls.ca_file'));
  });

  it('never shows a password', async () => {
    for (const store of [
      '{ redis: "redis://user:hunter2-hunter2@redis" }',
      '{ redis: "redis//user:hunter2-hunter2@redis" }',
      '{ redis: "redis://redis", password: hunter2-hunter2 }',
      '{ redis: "redis://redis", password: "hunter2-hunter2 }',
    ])
      expect((await diagnosticsOfStore(store)).join('\n')).not.toContain('hunter2');
  });
});
