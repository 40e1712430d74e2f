import { describe, expect, it } from 'vitest';
import { explain } from '../../../../src/explain/index.ts';
import {
  changesInWords,
  diagnosticsIn,
  diagnosticsOf,
  loadFiles,
  loadText,
} from '../../../support/config-text.ts';

const ROUTES = 'routes: [{ path: /**, upstream: api, authentication: none }]\n';
const gateway = (balance: string, more = '') =>
  `upstreams: { api: { url: "http://api:3000", balance: ${balance} } }\n${ROUTES}${more}`;
const KEY = 'k'.repeat(32);
const WITH_FILE = '{ cookie: weir_node, key_file: keys/node }';

async function upstreamOf(files: Parameters<typeof loadFiles>[0]) {
  const loaded = await loadFiles(files);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  const [upstream] = loaded.snapshot.upstreams;
  if (upstream === undefined) throw new Error('no upstream');
  return upstream;
}

describe('a cookie in "balance"', () => {
  it('has the key in its file, or none', async () => {
    const files = { 'gateway.yaml': gateway(WITH_FILE), 'keys/node': `${KEY}\n` };
    expect((await upstreamOf(files)).balance).toEqual({ cookie: 'weir_node', key: KEY });
    const alone = { 'gateway.yaml': gateway('{ cookie: weir_node }') };
    expect((await upstreamOf(alone)).balance).toEqual({ cookie: 'weir_node', key: null });
  });

  it('counts as another way to balance once the content of its file is another', async () => {
    const revisionOf = async (key: string) =>
      (await upstreamOf({ 'gateway.yaml': gateway(WITH_FILE), 'keys/node': key })).revision;
    expect(await revisionOf(KEY)).not.toBe(await revisionOf(`${KEY}2`));
    expect(await revisionOf(KEY)).toBe(await revisionOf(KEY));
  });

  it('needs a key that nobody can guess, and a file that is there', async () => {
    const files = { 'gateway.yaml': gateway(WITH_FILE), 'keys/node': 'short' };
    expect(diagnosticsOf(await loadFiles(files))).toEqual([
      expect.stringMatching(/upstreams\.api\.balance\.key_file: the key has fewer than 32 characters/),
    ]);
    expect(await diagnosticsIn(gateway(WITH_FILE))).toEqual([
      expect.stringMatching(/upstreams\.api\.balance\.key_file: no such file/),
    ]);
  });

  it.each(['{ cookie: "a b" }', '{ cookie: "" }', '{ cookie: 7 }', '{ key_file: keys/node }', '{}'])(
    'has a name that can stand in a field: not %s',
    async balance => {
      const [first = ''] = await diagnosticsIn(gateway(balance));
      expect(first).toMatch(/^1:\d+: upstreams\.api\.balance/);
    },
  );

  it('is one of the ways to balance that a mistake is told of', async () => {
    expect(await diagnosticsIn(gateway('sticky'))).toEqual([
      expect.stringMatching(
        /upstreams\.api\.balance: expected "least_requests", "caller" or a map such as \{ cookie: weir_node \}/,
      ),
    ]);
  });

  it('is an error for an upstream with protocol grpc', async () => {
    const text = `upstreams: { api: { url: "http://api:3000", protocol: grpc, balance: { cookie: node } } }
listen: { http: "127.0.0.1:0", grpc: "127.0.0.1:0" }
routes: [{ grpc: a.B/C, upstream: api, authentication: none }]
`;
    expect(await diagnosticsIn(text)).toEqual([
      expect.stringMatching(/"cookie" is for upstreams with protocol http1 or h2: this one speaks grpc$/),
    ]);
  });

  it('is warned of beside Redis, where it has no key that all gateways know', async () => {
    const store = 'store: { redis: "redis://redis:6379" }\n';
    const warned = async (balance: string, more: string) => {
      const files = { 'gateway.yaml': gateway(balance, more), 'keys/node': KEY };
      return diagnosticsOf(await loadFiles(files)).filter(text => text.includes('balance'));
    };
    expect(await warned('{ cookie: weir_node }', store)).toEqual([
      expect.stringMatching(/warning.*makes cookies that the others do not know.*add a "key_file"/),
    ]);
    expect(await warned(WITH_FILE, store)).toEqual([]);
    expect(await warned('caller', store)).toEqual([]);
    expect(await warned('{ cookie: weir_node }', 'store: memory\n')).toEqual([]);
    expect(await warned('{ cookie: weir_node }', '')).toEqual([]);
  });

  it('is explained, without its key, and compared', async () => {
    const snapshotOf = async (balance: string) => {
      const two = gateway(balance).replace('url: "http://api:3000"', 'urls: ["http://a", "http://b"]');
      const loaded = await loadFiles({ 'gateway.yaml': two, 'keys/node': KEY });
      if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
      return loaded.snapshot;
    };
    const [now, before] = [await snapshotOf(WITH_FILE), await snapshotOf('caller')];
    const caller = { as: null, address: null, principal: null };
    const { rows } = explain({ method: 'GET', target: '/', caller }, now);
    expect(rows).toContainEqual([
      'upstream',
      'api, http://a:80, http://b:80, balance by the cookie weir_node',
    ]);
    expect(JSON.stringify(rows)).not.toContain(KEY);
    expect(changesInWords(now.outline, before.outline).join()).toContain('upstreams.api.balance');
  });

  it('is not looked for with another way to balance', async () => {
    const loaded = await loadText(gateway('caller'));
    expect(loaded.ok && loaded.snapshot.upstreams[0]?.balanceCookie).toBeNull();
  });
});
