import { describe, expect, test } from 'vitest';
import { bareGateway, type Sending } from '../../../support/bare-gateway.ts';

const ALLOW = { networks: { allow: ['10.0.0.0/8', '2001:db8::/32'] } };
const ROUTES = [
  { path: '/in/**', ...ALLOW },
  { path: '/in/open', ...ALLOW, authentication: 'none' },
  { path: '/out', networks: { deny: ['192.0.2.0/24'] }, authentication: 'none' },
  { path: '/answer', ...ALLOW, respond: { status: 204 }, upstream: undefined },
  { path: '/page/', ...ALLOW, trailing_slash: 'redirect', authentication: 'none' },
];

async function start(limits = {}) {
  const config = {
    trusted_proxies: ['198.51.100.1'],
    cors: { origins: ['https://app.test'] },
  };
  return bareGateway(limits, { routes: ROUTES, config });
}

async function status(line: string, sending: Sending = {}) {
  return (await (await start()).ask(line, sending)).status;
}

describe('networks of a route', () => {
  test('admit those that are allowed, and all but those that are denied', async () => {
    for (const from of ['10.1.2.3', '2001:db8::7']) expect(await status('GET /in/open', { from })).toBe(200);
    for (const from of ['11.0.0.1', '192.0.2.1', '2001:db9::1'])
      expect(await status('GET /in/open', { from }), from).toBe(403);
    expect(await status('GET /out', { from: '192.0.2.1' })).toBe(403);
    expect(await status('GET /out', { from: '192.0.3.1' })).toBe(200);
  });

  test('deny an IPv4 address that a translator wrote into IPv6, and allow none, since nobody vouches for it', async () => {
    expect(await status('GET /out', { from: '64:ff9b::c000:201' })).toBe(403);
    expect(await status('GET /out', { from: '64:ff9b::c000:301' })).toBe(200);
    expect(await status('GET /in/open', { from: '64:ff9b::a00:1' })).toBe(403);
  });

  test('refuse before the token is looked at, and valid tokens as well', async () => {
    expect(await status('GET /in/a', { from: '10.0.0.1' })).toBe(401);
    expect(await status('GET /in/a', { from: '11.0.0.1' })).toBe(403);
    expect(await status('GET /in/a', { from: '11.0.0.1', as: true })).toBe(403);
    expect(await status('GET /in/a', { from: '10.0.0.1', as: true })).toBe(200);
  });

  test('go by the address that a trusted proxy tells, and by no one else’s word', async () => {
    const claim = ['X-Forwarded-For', '10.0.0.1'];
    expect(await status('GET /in/open', { from: '198.51.100.1', fields: claim })).toBe(200);
    expect(await status('GET /in/open', { from: '198.51.100.2', fields: claim })).toBe(403);
    const forged = ['X-Forwarded-For', '10.0.0.1, 11.0.0.1'];
    expect(await status('GET /in/open', { from: '198.51.100.1', fields: forged })).toBe(403);
  });

  test('hold for fixed answers, redirects to the slash, preflights and every spelling of the path', async () => {
    const preflight = ['Origin', 'https://app.test', 'Access-Control-Request-Method', 'GET'];
    for (const [line, fields] of [
      ['GET /answer', []],
      ['GET /page', []],
      ['GET /IN/%6fpen/', []],
      ['OPTIONS /in/open', preflight],
    ] as const)
      expect(await status(line, { from: '11.0.0.1', fields }), line).toBe(403);
    expect(await status('GET /page', { from: '10.0.0.1' })).toBe(308);
    expect(await status('OPTIONS /in/open', { from: '10.0.0.1', fields: preflight })).toBe(204);
  });

  test('count what they refuse as invalid, and against the global limit', async () => {
    const bare = await start({ invalid_requests: { limit: '2/10m', restrict_for: '10m' } });
    const sending = { from: '11.0.0.1' };
    const statuses = (await bare.askTimes(4, 'GET /in/a', sending)).map(({ status }) => status);
    expect(statuses).toEqual([403, 403, 403, 429]);
    const limited = await start({ global: { address: '1/1m' } });
    expect((await limited.askTimes(2, 'GET /in/a', sending)).map(({ status }) => status)).toEqual([403, 429]);
  });
});
