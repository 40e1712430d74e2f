import { describe, expect, it } from 'vitest';
import { changeConfig, changeLimits, serves } from '../support/edit-config.ts';
import { expectError, expectInvalidToken } from '../support/error-object.ts';
import { type ConfigPart, type LocalGateway, startGateway, withoutWorkers } from '../support/gateway.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { scripts } from '../support/scripted-provider.ts';
import { json, redeem } from '../support/sign-in-client.ts';
import { aMinuteAgo, startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { type CaptureUpstream, type Response, startUpstream, values } from '../support/wire/index.ts';

/** What makes a provider the one where users sign in. */
const SIGNS_IN = {
  redirect_uri: 'https://app.example/cb',
  client_id: 'gateway',
  client_authentication: 'none',
};

const entryOf = (name: string, { url }: TestIssuer, more: ConfigPart = {}): ConfigPart => ({
  name,
  issuer: url,
  audience: 'api',
  ...more,
});

interface Front {
  readonly gateway: LocalGateway;
  readonly upstream: CaptureUpstream;
}

async function startWith(identity: ConfigPart): Promise<Front> {
  const upstream = await startUpstream();
  const config = {
    access_tokens: {
      identity_headers: { 'X-Issuer': 'iss', 'X-Subject': 'sub' },
      key_set: { cooldown: '20ms' },
    },
    log: { level: 'trace', access: true },
    ...identity,
  };
  return {
    gateway: await startGateway({
      upstreamPort: upstream.port,
      route: { authentication: 'required' },
      config,
    }),
    upstream,
  };
}

/** A gateway with the providers `main`, where users sign in, and `partners`. */
async function startBoth(more: ConfigPart = {}) {
  const [main, partners] = [await startIssuer(), await startIssuer()];
  const identity_providers = [
    entryOf('main', main, { ...SIGNS_IN, bots: { claim: 'client_id' } }),
    entryOf('partners', partners, { audience: 'partner-api', principal: ['sub'], ...more }),
  ];
  const front = await startWith({ identity_providers });
  return { main, partners, identity_providers, ...front };
}

const ask = (gateway: LocalGateway, bearer: string): Promise<Response> =>
  gateway.ask(head('GET /things', bearer));
const statusOf = async (gateway: LocalGateway, bearer: string): Promise<number> =>
  (await ask(gateway, bearer)).status;

describe('a gateway with several providers', () => {
  it('accepts the tokens of each by its own rules, and tells services whose they are', async () => {
    const { gateway, upstream, main, partners } = await startBoth();
    await gateway.ready();
    expect(await statusOf(gateway, main.bearer())).toBe(200);
    expect(await statusOf(gateway, partners.bearer({ aud: 'partner-api', azp: undefined }))).toBe(200);
    const told = upstream.requests.map(({ fields }) => values(fields, 'x-issuer'));
    expect(told).toEqual([[main.url], [partners.url]]);
    expectInvalidToken(await ask(gateway, partners.bearer()));
    expectInvalidToken(await ask(gateway, main.bearer({ aud: 'partner-api' })));
    const stranger = await startIssuer();
    expectInvalidToken(await ask(gateway, stranger.bearer()));
    // The issuer's name alone is of no use.
    expectInvalidToken(await ask(gateway, stranger.bearer({ ...aMinuteAgo(), iss: main.url })));
    await expect.poll(() => accessLines(gateway).length).toBe(6);
    const reasons = accessLines(gateway).flatMap(({ tokenRefused }) => tokenRefused ?? []);
    expect(reasons).toEqual(['audience', 'audience', 'issuer', 'signature']);
  });

  it('never takes a caller of one for a caller of another', async () => {
    const { gateway, main, partners } = await startBoth({ audience: 'api', principal: ['azp', 'sub'] });
    await gateway.ready();
    for (const { bearer } of [main, partners].map(issuer => ({ bearer: issuer.bearer() })))
      expect(await statusOf(gateway, bearer)).toBe(200);
    await expect.poll(() => accessLines(gateway).length).toBe(2);
    const [one, other] = accessLines(gateway).map(({ caller }) => caller);
    expect(one).not.toBe(other);
    const alice = { client: 'app', subject: 'alice' };
    await changeLimits(gateway, {
      global: 'off',
      blocked: { callers: [{ provider: 'partners', ...alice }] },
    });
    await serves(gateway, 2);
    expect(await statusOf(gateway, main.bearer())).toBe(200);
    expect(await statusOf(gateway, partners.bearer())).toBe(429);
    const status = async (query: string) => (await gateway.admin(`/api/restrictions?${query}`)).status;
    expect(await status('client=app&subject=alice&provider=main')).toBe(200);
    expect(await status('client=app&subject=alice')).toBe(400);
    expect(await status('client=app&subject=alice&provider=elsewhere')).toBe(400);
    await changeLimits(gateway, { global: 'off', blocked: { callers: [alice] } });
    await serves(gateway, 3);
    expect(await statusOf(gateway, main.bearer())).toBe(429);
    expect(await statusOf(gateway, partners.bearer())).toBe(429);
  });

  it('names the provider in metrics, log and status', async () => {
    const { gateway, main, partners } = await startBoth();
    await gateway.ready();
    await ask(gateway, main.bearer());
    await ask(gateway, partners.bearer());
    await ask(gateway, (await startIssuer()).bearer());
    const [tokens, refused, keys] = await Promise.all(
      ['weir_tokens_total', 'weir_tokens_refused_total', 'weir_key_set_keys'].map(name =>
        gateway.metric(name),
      ),
    );
    expect(tokens?.get('{provider="main",outcome="verified"}')).toBe(1);
    expect(refused?.get('{provider="partners",reason="audience"}')).toBe(1);
    expect(refused?.get('{provider="none",reason="issuer"}')).toBe(1);
    expect(Object.fromEntries(keys ?? [])).toEqual({ '{provider="main"}': 1, '{provider="partners"}': 1 });
    const lines = gateway.logLines.map(line => JSON.parse(line));
    expect(
      lines.filter(({ msg }) => /loaded the issuer's keys/.test(msg)).map(({ provider }) => provider),
    ).toEqual(expect.arrayContaining(['main', 'partners']));
    const { providers } = JSON.parse((await gateway.admin('/status.json')).text);
    expect(providers).toMatchObject([
      { name: 'main', issuer: main.url, keys: 1 },
      { name: 'partners', issuer: partners.url, keys: 1 },
    ]);
  });

  it('signs users in at the one that has a redirect_uri', async () => {
    const { gateway, main, partners } = await startBoth();
    await gateway.ready();
    const url = json(await gateway.ask(head('GET /v1/anonymous/authorize-url')))['url'];
    expect(url).toContain(main.url);
    expect((await redeem(gateway, 'code', 'https://app.example/cb')).status).toBe(200);
    expect([main.provider.tokenRequests.length, partners.provider.tokenRequests.length]).toEqual([1, 0]);
  });
});

describe('a provider that is away', () => {
  it('affects its own tokens alone, from the start', async () => {
    const [main, away] = [await startIssuer(), await startIssuer()];
    away.provider.discovery = scripts.json(503, {});
    const { gateway } = await startWith({
      identity_providers: [entryOf('main', main), entryOf('away', away)],
    });
    await gateway.ready();
    expect(await statusOf(gateway, main.bearer())).toBe(200);
    expectError(await ask(gateway, away.bearer()), 503, 14);
  });

  it('is waited for as long as it has neither answered nor failed', async () => {
    const [main, slow] = [await startIssuer(), await startIssuer()];
    const held: (() => void)[] = [];
    const answer = slow.provider.discovery;
    slow.provider.discovery = (response, socket) => void held.push(() => answer(response, socket));
    const { gateway } = await startWith({
      identity_providers: [entryOf('main', main), entryOf('slow', slow)],
    });
    await waitFor('both are asked', () => held.length > 0 && main.provider.keyFetches > 0);
    await expect
      .poll(async () => (await gateway.metric('weir_key_set_keys')).get('{provider="main"}'))
      .toBe(1);
    expect((await gateway.admin('/readyz')).status).toBe(503);
    for (const goOn of held) goOn();
    await gateway.ready();
    expect(await statusOf(gateway, slow.bearer())).toBe(200);
  });
});

describe('a reload', () => {
  it('adds and removes a provider, and the others keep their keys and known tokens', async () => {
    withoutWorkers();
    const { gateway, main, partners, identity_providers } = await startBoth();
    await gateway.ready();
    const third = await startIssuer();
    const known = main.bearer();
    await ask(gateway, known);
    const ofPartner = partners.bearer({ aud: 'partner-api' });
    await ask(gateway, ofPartner);
    const fetches = main.provider.keyFetches;
    await changeConfig(gateway, { identity_providers: [...identity_providers, entryOf('third', third)] });
    await serves(gateway, 2);
    expect(await statusOf(gateway, third.bearer())).toBe(200);
    expect(await statusOf(gateway, known)).toBe(200);
    await changeConfig(gateway, { identity_providers: [identity_providers[0], entryOf('third', third)] });
    await serves(gateway, 3);
    expectInvalidToken(await ask(gateway, ofPartner));
    expect(await statusOf(gateway, known)).toBe(200);
    const tokens = await gateway.metric('weir_tokens_total');
    expect(tokens.get('{provider="main",outcome="verified"}')).toBe(1);
    expect(tokens.get('{provider="main",outcome="known"}')).toBe(2);
    expect(main.provider.keyFetches).toBe(fetches);
    expect(Object.keys(Object.fromEntries(await gateway.metric('weir_key_set_keys')))).toEqual([
      '{provider="main"}',
      '{provider="third"}',
    ]);
  });

  it('moves users to another realm without a day on which tokens fail (docs/tokens.md)', async () => {
    const [old, next] = [await startIssuer(), await startIssuer()];
    const access_tokens = { audience: 'api', bots: { claim: 'client_id' } };
    const { gateway } = await startWith({
      identity_provider: { issuer: old.url, ...SIGNS_IN },
      access_tokens,
    });
    await gateway.ready();
    const before = old.bearer();
    const served = async (...bearers: readonly string[]) => {
      for (const bearer of bearers) expect(await statusOf(gateway, bearer)).toBe(200);
    };
    const signsInAt = async ({ url }: TestIssuer) =>
      expect(json(await gateway.ask(head('GET /v1/anonymous/authorize-url')))['url']).toContain(url);
    await served(before);
    await signsInAt(old);

    const [first, second] = [entryOf('old', old, { bots: { claim: 'client_id' } }), entryOf('new', next)];
    const one = { identity_provider: undefined, access_tokens: {} };
    await changeConfig(gateway, { ...one, identity_providers: [{ ...first, ...SIGNS_IN }, second] });
    await serves(gateway, 2);
    await served(before, old.bearer(), next.bearer());
    await signsInAt(old);

    await changeConfig(gateway, { identity_providers: [first, { ...second, ...SIGNS_IN }] });
    await serves(gateway, 3);
    await signsInAt(next);
    await served(before, old.bearer(), next.bearer());

    await changeConfig(gateway, { identity_providers: [{ ...second, ...SIGNS_IN }] });
    await serves(gateway, 4);
    await served(next.bearer());
    expectInvalidToken(await ask(gateway, before));
  });
});
