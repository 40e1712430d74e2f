import { expect, test } from 'vitest';
import { diagnosticsIn, loadText, NEEDED } from '../../../support/config-text.ts';

const ROUTES = `upstreams: { api: { url: "http://api:3000" }, calls: { url: "http://calls", protocol: grpc } }
listen: { grpc: 127.0.0.1:8081 }
routes:
  - { path: /usual, upstream: api, authentication: none }
  - { path: /off, upstream: api, authentication: none, min_read_rate: off }
  - { path: /own, upstream: api, authentication: none, min_read_rate: 4KiB/s }
  - { path: /gone, respond: { status: 410 } }
  - { grpc: a.B/C, upstream: calls, authentication: none }
`;

async function ratesOf(text: string): Promise<unknown> {
  const loaded = await loadText(ROUTES + text);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  const { minReadRate, outline } = loaded.snapshot;
  const ofRoutes = outline.routes.map(({ value }) => [value.id, value.minReadRate]);
  return Object.fromEntries([['own answers', minReadRate], ...ofRoutes]);
}

test('clients read at 240 bytes a second, or as their route says', async () => {
  expect(await ratesOf('')).toEqual({
    'own answers': 240,
    '/usual': 240,
    '/off': null,
    '/own': 4_096,
    '/gone': 240,
    'GRPC a.B/C': 240,
  });
});

test('the rate of the file holds for calls, own answers and routes that do not say otherwise', async () => {
  expect(await ratesOf('min_read_rate: 1KiB/s\n')).toMatchObject({
    'own answers': 1_024,
    '/usual': 1_024,
    '/own': 4_096,
    'GRPC a.B/C': 1_024,
  });
  expect(await ratesOf('min_read_rate: off\n')).toMatchObject({
    'own answers': null,
    '/gone': null,
    '/own': 4_096,
  });
});

test('a rate that makes no sense is a mistake', async () => {
  expect(await diagnosticsIn(`${NEEDED}min_read_rate: 240B\n`)).toEqual([
    '3:16: min_read_rate: expected off, or a rate such as 240B/s or 4KiB/s, found "240B"',
  ]);
});
