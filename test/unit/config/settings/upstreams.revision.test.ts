import { expect, test } from 'vitest';
import { loadText } from '../../../support/config-text.ts';

const ROUTES = 'routes: [{ path: /**, upstream: api, authentication: none }]\n';

async function revisionOf(keys: string, further = ''): Promise<string> {
  const loaded = await loadText(`upstreams: { api: { ${keys} } }\n${ROUTES}${further}`);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  const [upstream] = loaded.snapshot.upstreams;
  return upstream?.revision ?? '';
}

const URL = 'url: "http://api:3000"';

test.each([
  URL,
  `${URL}, max_requests_per_caller: 50%`,
  `${URL}, authorization: remove`,
  `${URL}, balance: least_requests`,
  'urls: [{ url: "http://api:3000", weight: 1 }]',
])('connections are kept as they are with %s', async keys => {
  expect(await revisionOf(keys, 'caps: { requests: 7 }\n')).toBe(await revisionOf(URL));
});

test.each([
  'url: "http://api:3001"',
  'urls: [{ url: "http://api:3000", weight: 2 }]',
  `${URL}, balance: caller`,
  `${URL}, keep_alive: 5s`,
  `${URL}, max_requests: 7`,
  `${URL}, timeouts: { connect: 3s }`,
  `${URL}, health: { path: /healthz }`,
  'url: "https://api:3000"',
])('connections are not kept as they are with %s', async keys => {
  expect(await revisionOf(keys)).not.toBe(await revisionOf(URL));
});
