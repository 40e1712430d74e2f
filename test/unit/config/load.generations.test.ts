import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { MemoryStore } from '../../../src/limits/index.ts';
import { loadFiles, NEEDED } from '../../support/config-text.ts';
import { FrozenClock } from '../limits/frozen-clock.ts';

const limitsOf = (user: string, rest = '') =>
  `buckets: { things: { main: id, user: ${user}, resource: 40/10s }${rest} }\nroutes:\n  /things/{id}: things\n`;
const GATEWAY = `${NEEDED.replace('authentication: none', 'authentication: optional')}limits: limits.yaml
identity_provider: { issuer: "http://127.0.0.1:1", client_id: g, client_authentication: none, redirect_uri: "https://a.example" }
access_tokens: { audience: api }
`;

async function setOf(limits: string) {
  const result = await loadFiles({ 'gateway.yaml': GATEWAY, 'limits.yaml': limits });
  const set = result.ok && result.snapshot.limits.routes.find('GET', '', '/things/1')?.value.bucket.sets.user;
  if (!set) throw new Error(JSON.stringify(result));
  return set;
}

it('replicas with different generations agree on the counters of the buckets that both know', async () => {
  const store = new MemoryStore({ clock: new FrozenClock(), randomBytes });
  const old = await setOf(limitsOf('10/10s'));
  const next = await setOf(limitsOf('6/10s', ', more: { user: 1/1s }'));
  for (let n = 0; n < 3; n++) {
    store.decide(old, 'alice', '1');
    store.decide(next, 'alice', '1');
  }
  expect(store.peek(next, 'alice', '1')).toMatchObject({
    admitted: false,
    role: 'caller',
    limit: 6,
    remaining: 0,
  });
  expect(store.decide(old, 'alice', '1')).toMatchObject({ admitted: true, limit: 10, remaining: 3 });
  // Another period is another bucket.
  const another = await setOf(limitsOf('10/11s'));
  expect(store.decide(another, 'alice', '1')).toMatchObject({ remaining: 9 });
});
