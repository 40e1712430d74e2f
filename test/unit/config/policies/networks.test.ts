import { describe, expect, it } from 'vitest';
import { explain } from '../../../../src/explain/index.ts';
import { changesInWords, diagnosticsIn, loadText } from '../../../support/config-text.ts';

const HEAD = 'upstreams: { api: { url: "http://api:3000" } }\nroutes:\n';
const withRoute = (keys: string, path = '/a') =>
  `${HEAD}  - { path: ${path}, upstream: api, authentication: none, ${keys} }\n`;

async function snapshotOf(keys: string) {
  const loaded = await loadText(withRoute(keys));
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  return loaded.snapshot;
}

describe('networks', () => {
  const ONE = 'expected { allow: [10.0.0.0/8] } or { deny: [192.0.2.0/24] }, one of the two';
  it.each([
    ['networks: {}', ONE],
    ['networks: { allow: [10.0.0.0/8], deny: [10.0.0.1] }', ONE],
    ['networks: 10.0.0.0/8', ONE],
    ['networks: { allow: [] }', 'an empty list names no network: leave it out'],
    ['networks: { deny: [example.com] }', 'expected a network or an address such as'],
    ['networks: { deny: [10.0.0.0/33] }', 'is not an address or network'],
  ])('%s is refused', async (keys, message) => {
    expect((await diagnosticsIn(withRoute(keys))).join()).toContain(message);
  });

  it('are explained to an address', async () => {
    const snapshot = await snapshotOf('networks: { allow: [10.0.0.0/8] }');
    const rows = (address: string | null) =>
      explain({ method: 'GET', target: '/a', caller: { as: null, address, principal: null } }, snapshot).rows;
    expect(rows(null)).toContainEqual(['networks', 'of 10.0.0.0/8, else 403']);
    expect(rows('10.0.0.1')).toContainEqual(['networks', 'of 10.0.0.0/8, else 403']);
    expect(rows('11.0.0.1')).toContainEqual(['refused', '403, 11.0.0.1 may not use this route (networks)']);
  });

  it('are stricter than none', async () => {
    const [now, before] = [
      await snapshotOf('networks: { deny: [192.0.2.1] }'),
      await snapshotOf('cors: true'),
    ];
    expect(changesInWords(now.outline, before.outline)).toEqual([
      'stricter: /a: takes clients not of 192.0.2.1',
    ]);
  });

  it('are guarded: a route that leads around them is a warning', async () => {
    const text = `${withRoute('networks: { allow: [10.0.0.0/8] }', '/admin/**')}  - { path: /pub/**, strip_prefix: /pub, upstream: api, authentication: none }\n`;
    expect((await diagnosticsIn(text)).join()).toContain('this route bypasses the one in line 3');
  });
});
