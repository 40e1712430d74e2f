import { describe, expect, test } from 'vitest';
import { bareGateway } from '../../../support/bare-gateway.ts';
import type { ConfigPart } from '../../../support/gateway.ts';
import { values } from '../../../support/wire/index.ts';

const REDIRECT = { trailing_slash: 'redirect' };
const ROUTES: readonly ConfigPart[] = [
  { path: '/app/', ...REDIRECT },
  { path: '/page', ...REDIRECT, require: { scopes: ['a'] } },
  { path: '/things/{id}/', ...REDIRECT, response_headers: { set: { 'X-Frame-Options': 'DENY' } } },
  { path: '/both/', authentication: 'none' },
  { path: '/session/', authentication: 'none', semicolons: 'pass', ...REDIRECT },
  { path: '/old/', redirect: { to: '/new' }, upstream: undefined, ...REDIRECT },
];

async function ask(line: string, limits: ConfigPart = {}) {
  const bare = await bareGateway(limits, { routes: ROUTES });
  const { status, fields } = await bare.ask(line);
  return { bare, status, fields, location: values(fields, 'location')[0], sent: bare.requests.length };
}

describe('a route with trailing_slash: redirect', () => {
  test.each([
    ['GET /app', '/app/'],
    ['HEAD /app?x=/', '/app/?x=/'],
    ['GET /APP', '/APP/'],
    ['GET /page/?', '/page?'],
    ['GET /things/%C3%A4', '/things/%C3%A4/'],
    ['GET /old', '/old/'],
  ])('sends %s to %s, before a token is asked for', async (line, location) => {
    expect(await ask(line)).toMatchObject({ status: 308, location, sent: 0 });
  });

  test('serves the path that it has, and other methods by both', async () => {
    for (const line of ['GET /app/', 'HEAD /page', 'POST /app', 'DELETE /page/', 'OPTIONS /app'])
      expect((await ask(line)).status, line).toBe(401);
    expect(await ask('GET /old/')).toMatchObject({ status: 308, location: '/new' });
    expect((await ask('GET /session/;jsessionid=1')).status).toBe(200);
    for (const line of ['GET /both', 'GET /both/']) expect((await ask(line)).status, line).toBe(200);
  });

  test('leads to no other host', async () => {
    for (const line of [
      'GET //app',
      'GET //evil.example/..',
      'GET /things//',
      'GET /things/%2Fevil.example',
      'GET /things/\\evil',
    ])
      expect((await ask(line)).location, line).toBeUndefined();
  });

  test('adds the fields of the route', async () => {
    expect(values((await ask('GET /things/7')).fields, 'x-frame-options')).toEqual(['DENY']);
  });

  test('draws on the global limit alone', async () => {
    const buckets = { a: { address: '1/1m' } };
    const { bare } = await ask('GET /app', { buckets, routes: { '/app': 'a' }, global: { address: '2/1m' } });
    expect((await bare.ask('GET /app')).status).toBe(308);
    expect((await bare.ask('GET /app')).status).toBe(429);
  });
});
