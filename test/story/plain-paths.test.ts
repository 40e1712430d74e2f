import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { head } from '../support/requests.ts';
import { startUpstream } from '../support/wire/index.ts';

/** Sends requests and returns the paths that the log has for them. */
async function pathsOf(paths: string, ...lines: string[]): Promise<unknown[]> {
  const upstream = await startUpstream();
  const routes = [
    {
      path: '/hooks/{id}/{token}',
      methods: ['POST'],
      upstream: 'api',
      authentication: 'none',
      webhook: true,
    },
    { path: '/api/**', upstream: 'api', authentication: 'none' },
  ];
  const config = { routes, log: { level: 'info', paths } };
  const gateway = await startGateway({ upstreamPort: upstream.port, config });
  for (const line of lines) await gateway.ask(head(line));
  const records = gateway.logLines.map(line => JSON.parse(line) as { type?: string; path?: string });
  return records.filter(({ type }) => type === 'access').map(({ path }) => path);
}

test('a log with plain paths says which path was asked for', async () => {
  const paths = await pathsOf('plain', 'GET /api/orders/%65xport.csv?token=secret', 'GET /nothing/7');
  expect(paths).toEqual(['/api/orders/export.csv', '/nothing/7']);
});

test('and which path was refused with 400, bounded, escaped and without its query', async () => {
  const paths = await pathsOf(
    'plain',
    'GET /a%2Fb?token=secret',
    'GET /a//b#secret',
    'GET http://user:secret@elsewhere.test/a',
    'GET /\\\xe9"',
    `GET //${'a'.repeat(2_000)}`,
  );
  expect(paths).toEqual(['/a%2Fb', '/a//b', '/a', '/\\\xe9"', `//${'a'.repeat(998)}`]);
});

test('but never the parameters of a webhook, nor those of one that was asked in another way, or spelt so that no route takes it', async () => {
  const paths = await pathsOf(
    'plain',
    'POST /hooks/1/secret',
    'GET /hooks/1/secret',
    'POST /hooks/1/secret/more',
    'POST //hooks/1//secret',
    'POST /HOOKS/1%2Fsecret',
    'POST /%68ooks/1/secret;x',
    'POST /hooks%252F1%252Fsecret',
    'POST /other/hooks/1/secret',
    'POST /hooks/1',
  );
  expect(paths.join()).not.toContain('secret');
  expect(paths.at(-1)).toBe('/hooks/1');
});

test('a log masks paths unless it says otherwise', async () => {
  const [masked, refused] = await pathsOf('masked', 'GET /api/export.csv', 'GET /a%2Fb');
  expect(masked).toMatch(/^\/api\/\{[^}]+\}$/);
  expect(refused).toBeUndefined();
});
