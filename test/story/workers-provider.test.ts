import { describe, expect, test } from 'vitest';
import { changeConfig, configPart } from '../support/edit-config.ts';
import type { LocalGateway } from '../support/gateway.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { type IdentitySettings, identityConfig, startIdentityGateway } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { scripts } from '../support/scripted-provider.ts';
import { secret } from '../support/secrets.ts';
import { inTime } from '../support/test-clock.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { type IssuerKey, issuerKey, signToken } from '../support/token-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { type Response, startUpstream } from '../support/wire/index.ts';
import { clientsOfEach, workersIn } from '../support/workers.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const WORKERS = 3;
const NEXT = issuerKey('ES256', 'next');
const COOLDOWN_MS = 60_000;

/** Sends one request on a connection that this worker serves. */
type Ask = (token: string) => Promise<Response>;

/** Three workers in one thread, on a clock that stands still. */
async function front(issuer: TestIssuer, settings: Omit<IdentitySettings, 'issuer'> = {}) {
  const clock = new FrozenClock(Date.now());
  const tokens = { key_set: { cooldown: '60s' } };
  const config = { workers: WORKERS, ...settings.config };
  const started = await startIdentityGateway({ issuer: issuer.url, clock, tokens, ...settings, config });
  return { ...started, clock };
}

async function askEach(gateway: LocalGateway): Promise<readonly Ask[]> {
  const clients = await clientsOfEach(gateway, WORKERS);
  return clients.map(client => token => client.ask(head('GET /things', `Authorization: Bearer ${token}`)));
}

const by = (issuer: TestIssuer, key: IssuerKey) => secret(signToken(key, issuer.claims()));

async function statuses(each: readonly Ask[], token: string): Promise<number[]> {
  return (await Promise.all(each.map(ask => ask(token)))).map(({ status }) => status);
}

const all = (status: number) => Array(WORKERS).fill(status);

describe('several workers', () => {
  test('take tokens, and the provider is asked once for all', async () => {
    const issuer = await startIssuer();
    const { gateway } = await front(issuer);
    await gateway.ready();
    expect(await statuses(await askEach(gateway), issuer.token())).toEqual(all(200));
    expect(issuer.provider).toMatchObject({ discoveries: 1, keyFetches: 1 });
    expect((await gateway.counted('weir_key_set_fetches_total')).get('{outcome="loaded"}')).toBe(1);
  });

  test('all know a new key once one of them has met it, within one cooldown', async () => {
    const issuer = await startIssuer();
    const { gateway, clock } = await front(issuer);
    await gateway.ready();
    const each = await askEach(gateway);
    issuer.publish(issuer.key, NEXT);
    expect(await statuses(each, by(issuer, NEXT))).toEqual(all(503));
    expect(issuer.provider.keyFetches).toBe(1);
    clock.advance(COOLDOWN_MS);
    const [first, ...others] = each;
    expect((await first?.(by(issuer, NEXT)))?.status).toBe(200);
    expect(issuer.provider.keyFetches).toBe(2);
    const third = issuerKey('ES256', 'third');
    expect(await statuses(others, by(issuer, NEXT))).toEqual(others.map(() => 200));
    // A key that nobody published: no worker may have the keys fetched again yet.
    expect(await statuses(each, by(issuer, third))).toEqual(all(401));
    expect(issuer.provider.keyFetches).toBe(2);
    clock.advance(COOLDOWN_MS);
    // Now one fetch serves all that ask at the same time; who joins it late learns no more than that it cannot tell.
    for (const status of await statuses(each, by(issuer, third))) expect([401, 503]).toContain(status);
    expect(issuer.provider.keyFetches).toBe(3);
  });

  test('refuse nobody for good while the provider is away at the start, and serve once it is back', async () => {
    const issuer = await startIssuer();
    const { discovery } = issuer.provider;
    issuer.provider.discovery = scripts.html(500);
    const { gateway, clock } = await front(issuer);
    const each = await askEach(gateway);
    expect(await statuses(each, issuer.token())).toEqual(all(503));
    expect((await gateway.admin('/readyz')).status).toBe(503);
    issuer.provider.discovery = discovery;
    await inTime(clock, gateway.ready());
    expect(await statuses(each, issuer.token())).toEqual(all(200));
    expect(issuer.provider.keyFetches).toBe(1);
  });

  test('change to another provider together', async () => {
    const [issuer, other] = [await startIssuer(), await startIssuer()];
    const { gateway } = await front(issuer);
    await gateway.ready();
    const each = await askEach(gateway);
    const provider = await configPart(gateway, 'identity_provider');
    await changeConfig(gateway, { identity_provider: { ...provider, issuer: other.url } });
    await gateway.app.reload();
    await waitFor('it is in use', async () => (await each[0]?.(other.token()))?.status === 200);
    expect(await statuses(each, other.token())).toEqual(all(200));
    expect(await statuses(each, issuer.token())).toEqual(all(401));
    expect(other.provider).toMatchObject({ discoveries: 1, keyFetches: 1 });
    expect(issuer.provider).toMatchObject({ discoveries: 1, keyFetches: 1 });
  });
});

test('workers in threads of their own take tokens, and the provider is asked once for all', async () => {
  const issuer = await startIssuer();
  const upstream = await startUpstream();
  const config = { workers: 2 };
  const gateway = await startGatewayProcess(await identityConfig({ issuer: issuer.url, config }, upstream));
  const ask = () => gateway.ask(head('GET /a', issuer.bearer()));
  await waitFor('both serve', async () => {
    await ask();
    return workersIn(gateway.output).size === 2;
  });
  const answers = await Promise.all(Array.from({ length: 20 }, ask));
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(issuer.provider).toMatchObject({ discoveries: 1, keyFetches: 1 });
});
