import { describe, expect, test } from 'vitest';
import { expectInvalidToken, expectUnauthenticated } from '../support/error-object.ts';
import { accessLines, type IdentitySettings, startGatewayOf } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { aMinuteAgo, startIssuer, validFor } from '../support/test-issuer.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const get = (path: string, ...lines: string[]) => head(`GET ${path}`, ...lines);
const nowS = () => Math.floor(Date.now() / 1_000);

async function front(settings: Omit<IdentitySettings, 'issuer'> = {}) {
  const issuer = await startIssuer();
  const routes = [
    { path: '/optional', authentication: 'optional' },
    { path: '/open', authentication: 'none' },
  ];
  return { issuer, ...(await startGatewayOf(issuer, { routes, ...settings })) };
}

describe('why a token is refused', () => {
  test('is in the access log and not in the response', async () => {
    const { issuer, gateway } = await front();
    const response = await gateway.ask(get('/things', issuer.bearer({ exp: nowS() - 60 })));
    expectInvalidToken(response);
    expect(JSON.stringify(response)).not.toContain('expired');
    expect(accessLines(gateway)).toMatchObject([{ status: 401, route: '/**', tokenRefused: 'expired' }]);
  });

  test('is there even if the route serves clients without a token', async () => {
    const { issuer, gateway } = await front();
    expect((await gateway.ask(get('/optional', issuer.bearer({ aud: 'other' })))).status).toBe(200);
    expect(accessLines(gateway)).toMatchObject([{ status: 200, class: 'address', tokenRefused: 'audience' }]);
  });

  test('is absent for a request without a token, with a valid one, or on a route that checks none', async () => {
    const { issuer, gateway } = await front();
    expectUnauthenticated(await gateway.ask(get('/things')));
    await gateway.ask(get('/things', issuer.bearer()));
    await gateway.ask(get('/open', 'Authorization: Bearer none'));
    await gateway.ask(get('/optional'));
    expect(accessLines(gateway).map(line => [line['status'], line['tokenRefused']])).toEqual([
      [401, undefined],
      [200, undefined],
      [200, undefined],
      [200, undefined],
    ]);
  });

  test('is logged for every request with it, even if it was remembered as bad', async () => {
    const { issuer, gateway } = await front();
    const forged = `${issuer.bearer(aMinuteAgo()).slice(0, -8)}AAAAAAAA`;
    const client = await gateway.connect();
    for (let i = 0; i < 3; i++) expectInvalidToken(await client.ask(get('/things', forged)));
    expect(accessLines(gateway).map(line => line['tokenRefused'])).toEqual(Array(3).fill('signature'));
  });

  test('is logged if a token ends while its request is in flight', async () => {
    const time = new FrozenClock(Date.now());
    const { issuer, gateway, upstream } = await front({
      clock: time,
      tokens: { leeway: '0s' },
      routes: [{ path: '/until-expiry', close_at_expiry: true }],
      upstream: async exchange => await exchange.gone,
    });
    const response = gateway.ask(get('/until-expiry', issuer.bearer(validFor(1, time))));
    await expect.poll(() => upstream.requests.length).toBe(1);
    time.advance(1_000);
    expectInvalidToken(await response);
    expect(accessLines(gateway)).toMatchObject([{ status: 401, class: 'user', tokenRefused: 'expired' }]);
    expect(await gateway.counted('weir_tokens_refused_total')).toEqual(new Map([['{reason="expired"}', 1]]));
  });
});

describe('a claim that a token lacks', () => {
  /** What the log says of such tokens beside the access log. */
  const warnings = (lines: readonly string[]) =>
    lines.map(line => JSON.parse(line)).filter(({ type }) => type === 'token');

  test('is named in the log', async () => {
    const { issuer, gateway } = await front();
    const claims = { iss: undefined, exp: 'soon', azp: undefined, sub: '' };
    for (const [claim, value] of Object.entries(claims))
      expectInvalidToken(await gateway.ask(get('/things', issuer.bearer({ [claim]: value }))));
    const names = Object.keys(claims);
    expect(accessLines(gateway)).toMatchObject(names.map(claim => ({ tokenRefused: 'claim', claim })));
    const expected = names.map(claim => ({ level: 'warn', reason: 'claim', claim, tokens: 1 }));
    expect(warnings(gateway.logLines)).toMatchObject(expected);
  });

  test('names no more than the configuration and the standards do', async () => {
    const { issuer, gateway } = await front({
      tokens: { principal: ['azp', 'https://claims.example/"org"'] },
    });
    await gateway.ask(get('/things', issuer.bearer({ 'https://claims.example/made-up': 7 })));
    expect(accessLines(gateway)).toMatchObject([
      { tokenRefused: 'claim', claim: 'https://claims.example/"org"' },
    ]);
  });
});
