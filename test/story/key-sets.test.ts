import { describe, expect, onTestFinished, test } from 'vitest';
import { expectError, expectInvalidToken, expectUnauthenticated } from '../support/error-object.ts';
import { flood } from '../support/flood.ts';
import type { LocalGateway } from '../support/gateway.ts';
import { type IdentitySettings, startGatewayOf, startIdentityGateway } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { type Script, scripts, startScriptedProvider } from '../support/scripted-provider.ts';
import { secret } from '../support/secrets.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { base64Url, type IssuerKey, issuerKey, signToken } from '../support/token-issuer.ts';
import { forgeForExponentOne, rocaKey } from '../support/weak-keys.ts';
import { header, type Response } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const NEXT = issuerKey('ES256', 'next');
const get = (line: string, path = '/things') => head(`GET ${path}`, line);

/** A line with a token that this key signs. */
const by = (issuer: TestIssuer, key: IssuerKey, claims: Readonly<Record<string, unknown>> = {}) =>
  `Authorization: Bearer ${secret(signToken(key, issuer.claims(claims)))}`;

/** Nothing is cooled down for long. The provider has time: a process that stands still may find its answer only later. */
const QUICK = { tokens: { key_set: { cooldown: '20ms' } }, provider: { timeout: '60s' } };
/** The same with little time for a provider that hangs. */
const IMPATIENT = { ...QUICK, provider: { timeout: '300ms' } };
const HANGS: readonly (Script | undefined)[] = [scripts.hang, scripts.hangInBody];
const patienceFor = (script: Script | undefined) => (HANGS.includes(script) ? IMPATIENT : QUICK);
const OFTEN = { interval: 5 };

/** Asks an issuer that may hang: time goes by, in steps so small that no token expires meanwhile. */
async function askPatiently(gateway: LocalGateway, bytes: string): Promise<Response> {
  const asked = { isOver: false };
  const response = gateway.ask(bytes).finally(() => {
    asked.isOver = true;
  });
  await gateway.time.advanceUntil('it is answered', () => asked.isOver);
  return response;
}

async function front(settings: Omit<IdentitySettings, 'issuer'> = QUICK) {
  const issuer = await startIssuer();
  return { issuer, ...(await startGatewayOf(issuer, settings)) };
}

/** Lets time go by until the gateway has fetched the keys and is ready. */
async function becomesReady(gateway: LocalGateway): Promise<void> {
  const isReady = async () => (await gateway.admin('/readyz')).status === 200;
  await gateway.time.advanceUntil('it is ready', isReady, 100);
}

/**
 * Sends requests of an unknown key until one of them makes the gateway fetch the keys, and lets that fetch hang until
 * `goOn`, which answers it as the issuer would then.
 */
async function fetchBegins(issuer: TestIssuer, gateway: LocalGateway) {
  const held: (() => void)[] = [];
  issuer.provider.keys = (response, socket) => {
    held.push(() => issuer.provider.keys(response, socket));
  };
  const waiting = await gateway.connect();
  await gateway.time.advanceUntil('the keys are fetched', async () => {
    await waiting.send(get(by(issuer, NEXT)));
    return held.length > 0;
  });
  return { waiting, goOn: held[0] ?? expect.fail('no fetch') };
}

/** That nobody can tell, and that the client is to come again. */
function expectUndecided(response: Response): void {
  expectError(response, 503, 14);
  expect(header(response, 'retry-after')).toMatch(/^[1-9]\d*$/);
  expect(header(response, 'www-authenticate')).toBeUndefined();
}

/** The public key of an issuer, with an exponent by which everybody can sign. */
function exponentOne(kid: string): Readonly<Record<string, unknown>> {
  return { ...issuerKey('RS256', kid).jwk, e: base64Url(Buffer.from([1])) };
}

const keySet = (...keys: readonly unknown[]) => scripts.json(200, { keys });
const { jwk } = NEXT;

/** Responses that are no key set with a key in it that could verify anything. */
const useless: readonly (readonly [string, Script])[] = [
  ['a page', scripts.html(200)],
  ['a key set with the status 404', scripts.json(404, { keys: [jwk] })],
  ['less than announced', scripts.endInBody],
  ['a reset in its middle', scripts.resetInBody],
  ['silence', scripts.hang],
  ['silence from its middle on', scripts.hangInBody],
  ['64 MB', scripts.huge(64_000_000)],
  ['five hundred keys and one', keySet(...Array(501).fill(jwk))],
  ['a key with the exponent 1', keySet(exponentOne('next'))],
];

describe('an issuer that sends', () => {
  test.each(useless)(
    '%s for its keys takes none away, and tokens of others wait for better days',
    async (_, script) => {
      const { issuer, gateway } = await front(patienceFor(script));
      issuer.provider.keys = script;
      const responses: Response[] = [];
      // The first ones may come within the cooldown of the first fetch.
      await expect
        .poll(async () => {
          responses.push(await askPatiently(gateway, get(by(issuer, NEXT))));
          return (await gateway.counted('weir_key_set_fetches_total')).get('{outcome="failed"}') ?? 0;
        }, OFTEN)
        .toBeGreaterThan(0);
      for (const response of responses) expectUndecided(response);
      expect((await gateway.ask(get(issuer.bearer()))).status).toBe(200);
      expect(await gateway.admin('/readyz')).toMatchObject({ status: 200 });
      issuer.publish(issuer.key, NEXT);
      await expect
        .poll(async () => (await askPatiently(gateway, get(by(issuer, NEXT)))).status, OFTEN)
        .toBe(200);
    },
  );

  test('its keys behind a redirect is not followed there', async () => {
    const issuer = await startIssuer();
    const other = await startScriptedProvider();
    onTestFinished(() => other.close());
    other.keys = keySet(issuer.key.jwk);
    const right = issuer.provider.keys;
    for (const status of [301, 302, 307, 308]) {
      issuer.provider.keys = response =>
        response.writeHead(status, { location: `${other.issuer}/keys?secret=marker` }).end('{"keys":[]}');
      const { gateway } = await startIdentityGateway({ issuer: issuer.url, ...QUICK });
      await expect
        .poll(async () => [...(await gateway.counted('weir_key_set_fetches_total')).keys()])
        .toEqual(['{outcome="failed"}']);
      expectUndecided(await gateway.ask(get(issuer.bearer())));
      const pointsTo = `answered ${status} and points to ${other.issuer}/keys, where the gateway does not follow`;
      expect(gateway.logLines.join()).toContain(pointsTo);
      issuer.provider.keys = right;
      await becomesReady(gateway);
    }
    expect(other.keyFetches).toBe(0);
  });
});

describe('a key by which others than the issuer can sign', () => {
  const forged = (claims: Readonly<Record<string, unknown>>, kid: string) => {
    const input = [{ alg: 'RS256', typ: 'JWT', kid }, claims]
      .map(part => base64Url(JSON.stringify(part)))
      .join('.');
    return `${input}.${forgeForExponentOne(input, 256)}`;
  };

  test('is not used, with the exponent 1 or with the ROCA fingerprint, while the keys beside it are', async () => {
    const roca = rocaKey('roca');
    const issuer = await startIssuer();
    issuer.provider.keys = keySet(issuer.key.jwk, exponentOne('one'), roca.jwk);
    const { gateway, upstream } = await startGatewayOf(issuer, QUICK);
    const tokens = [forged(issuer.claims(), 'one'), signToken(roca, issuer.claims())];
    for (const token of tokens) {
      for (let i = 0; i < 3; i++) {
        const response = await gateway.ask(get(`Authorization: Bearer ${secret(token)}`));
        expect([401, 503]).toContain(response.status);
      }
    }
    expect(upstream.requests).toEqual([]);
    expect((await gateway.ask(get(issuer.bearer()))).status).toBe(200);
    expect(await gateway.metric('weir_key_set_keys')).toEqual(new Map([['', 1]]));
  });

  test('is logged with its name and flaw, once for as long as it is published', async () => {
    const issuer = await startIssuer();
    const weak = exponentOne('one');
    issuer.provider.keys = keySet(issuer.key.jwk, weak);
    const { gateway } = await startGatewayOf(issuer, QUICK);
    const told = () =>
      gateway.logLines
        .map(line => JSON.parse(line))
        .filter(line => 'flaw' in line)
        .map(({ level, type, keyId, flaw }) => [level, type, keyId, flaw]);
    const loaded = async () =>
      (await gateway.counted('weir_key_set_fetches_total')).get('{outcome="loaded"}') ?? 0;
    /** Unknown keys have the set fetched anew, so many times more. */
    const fetchAgain = async (times: number) => {
      const enough = (await loaded()) + times;
      await expect
        .poll(async () => {
          await gateway.ask(get(by(issuer, NEXT)));
          return loaded();
        }, OFTEN)
        .toBeGreaterThanOrEqual(enough);
    };
    const exponent = ['warn', 'provider', 'one', 'a public exponent that is below 3 or even'];
    await fetchAgain(2);
    expect(told()).toEqual([exponent]);
    issuer.provider.keys = keySet(issuer.key.jwk, weak, rocaKey('two').jwk);
    await fetchAgain(2);
    const roca = ['warn', 'provider', 'two', 'a modulus with the ROCA fingerprint (CVE-2017-15361)'];
    expect(told()).toEqual([exponent, roca]);
    issuer.publish(issuer.key);
    await fetchAgain(2);
    issuer.provider.keys = keySet(issuer.key.jwk, weak);
    await fetchAgain(2);
    expect(told()).toEqual([exponent, roca, exponent]);
  });
});

describe('an issuer that is away at the start', () => {
  test.each<[string, Partial<Record<'keys' | 'discovery', Script>>]>([
    ['wholly', {}],
    ['with its keys', { keys: scripts.html(503) }],
    ['with a key endpoint that hangs', { keys: scripts.hang }],
    ['with a document that hangs', { discovery: scripts.hang }],
  ])('(%s) keeps the gateway from being ready, and no valid token is called invalid', async (how, broken) => {
    const issuer = await startIssuer();
    const { discovery, keys } = issuer.provider;
    if (how === 'wholly') await issuer.provider.close();
    else Object.assign(issuer.provider, broken);
    const { gateway, upstream } = await startIdentityGateway({
      issuer: issuer.url,
      routes: [
        { path: '/optional', authentication: 'optional' },
        { path: '/open', authentication: 'none' },
      ],
      // Waiting for keys does not count as a failure of the client.
      limits: { failed_verifications: '1/1m' },
      ...patienceFor(broken.keys ?? broken.discovery),
    });
    for (let round = 0; round < 3; round += 1) {
      const paths = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? '/things' : '/optional'));
      const responses = await Promise.all(
        paths.map(path => askPatiently(gateway, get(issuer.bearer(), path))),
      );
      for (const response of responses) expectUndecided(response);
    }
    expect(upstream.requests).toEqual([]);
    expect(await gateway.admin('/readyz')).toMatchObject({
      status: 503,
      text: "waiting for the issuer's keys\n",
    });
    expect(await gateway.admin('/healthz')).toMatchObject({ status: 200 });
    // What needs no key is decided.
    expectUnauthenticated(await gateway.ask(head('GET /things')));
    expectInvalidToken(await gateway.ask(get('Authorization: Bearer none')));
    expectInvalidToken(await gateway.ask(get(issuer.bearer({ exp: 1 }))));
    expect((await gateway.ask(head('GET /optional'))).status).toBe(200);
    expect((await gateway.ask(get(issuer.bearer(), '/open'))).status).toBe(200);

    Object.assign(issuer.provider, { discovery, keys });
    if (how === 'wholly') {
      const again = await startScriptedProvider({ port: issuer.provider.port });
      onTestFinished(() => again.close());
      again.keys = keys;
    }
    await becomesReady(gateway);
    expect((await gateway.ask(get(issuer.bearer()))).status).toBe(200);
  });
});

describe('a key that is', () => {
  test('new is learnt by one fetch when its first token comes, and the old one stays good', async () => {
    const { issuer, gateway } = await front();
    const old = issuer.bearer();
    expect((await gateway.ask(get(old))).status).toBe(200);
    issuer.publish(issuer.key, NEXT);
    // The first token may come within the cooldown of the first fetch.
    await expect.poll(async () => (await gateway.ask(get(by(issuer, NEXT)))).status).toBe(200);
    expect(issuer.provider.keyFetches).toBe(2);
    const responses = await Promise.all(
      [old, issuer.bearer(), by(issuer, NEXT)].map(line => gateway.ask(get(line))),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(issuer.provider.keyFetches).toBe(2);
  });
});

describe('a token of an unknown key', () => {
  test.each<[string, Script | null]>([
    ['up', null],
    ['hanging', scripts.hang],
  ])(
    'may come by the thousand: an issuer that is %s is asked once per cooldown, and good tokens pass',
    async (_, script) => {
      const clock = new FrozenClock(Date.now());
      const { issuer, gateway } = await front({
        tokens: { key_set: { cooldown: '1m' } },
        // Longer than the tenth of the cooldown by which a fetch may come earlier.
        provider: { timeout: '10s' },
        limits: { failed_verifications: 'off' },
        clock,
      });
      issuer.provider.keys = script ?? issuer.provider.keys;
      const claims = issuer.claims();
      const [, payload, signature] = signToken(NEXT, claims).split('.');
      const unknown = (i: number) => {
        const protectedHeader = btoa(JSON.stringify({ alg: 'ES256', kid: `k${i}` })).replaceAll('=', '');
        return get(`Authorization: Bearer ${protectedHeader}.${payload}.${signature}`);
      };
      for (let cooldown = 1; cooldown <= 2; cooldown += 1) {
        const flooding = flood(gateway, 1_000, i => unknown(cooldown * 1_000 + i));
        await expect.poll(() => issuer.provider.keyFetches).toBe(cooldown);
        // As long as the provider has.
        if (script === scripts.hang) clock.advance(10_000);
        const statuses = await flooding;
        expect([200, 429].filter(status => statuses.has(status))).toEqual([]);
        expect((await gateway.ask(get(issuer.bearer()))).status).toBe(200);
        // The first fetch was at the start, and its cooldown holds back all of the first thousand.
        expect(issuer.provider.keyFetches).toBe(cooldown);
        clock.advance(60_001);
      }
    },
  );

  test('whose sender leaves while its key is fetched takes no place at the upstream, and draws on no limit', async () => {
    const { issuer, gateway, upstream } = await front({
      tokens: QUICK.tokens,
      provider: { timeout: '5s' },
      api: { max_requests: 3 },
      limits: { buckets: { all: { user: '10/60s' } }, routes: { '/**': 'all' } },
    });
    const { goOn, waiting } = await fetchBegins(issuer, gateway);
    const leaving = [waiting, ...(await Promise.all([1, 2, 3, 4, 5].map(() => gateway.connect())))];
    for (const client of leaving.slice(1)) await client.send(get(by(issuer, NEXT)));
    const inFlight = async () => (await gateway.metric('weir_requests_in_flight')).get('');
    await expect.poll(inFlight).toBe(leaving.length);
    for (const client of leaving) client.reset();
    await expect.poll(inFlight).toBe(0);
    issuer.publish(issuer.key, NEXT);
    goOn();
    // The fetch has ended for those that left as for this one.
    const response = await gateway.ask(get(by(issuer, NEXT)));
    expect(response.status).toBe(200);
    expect(header(response, 'x-ratelimit-remaining')).toBe('9');
    expect(upstream.requests).toHaveLength(1);
  });

  test('that waits for a hanging issuer does not delay others', async () => {
    const { issuer, gateway } = await front({ tokens: QUICK.tokens, provider: { timeout: '5s' } });
    const { waiting } = await fetchBegins(issuer, gateway);
    expect((await gateway.ask(get(issuer.bearer()))).status).toBe(200);
    expectInvalidToken(await gateway.ask(get('Authorization: Bearer none')));
    expect((await gateway.metric('weir_requests_in_flight')).get('')).toBe(1);
    // Who leaves meanwhile is let go.
    waiting.reset();
    await expect.poll(async () => (await gateway.metric('weir_requests_in_flight')).get('')).toBe(0);
  });
});
