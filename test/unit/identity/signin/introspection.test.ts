import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { GatewayError, ProcessPermits, thisMachine } from '../../../../src/core/index.ts';
import { Provider } from '../../../../src/identity/signin/index.ts';
import { Introspection } from '../../../../src/identity/signin/introspection.ts';
import { PROVIDER_OPTIONS } from '../../../support/identity-options.ts';
import { played } from '../../../support/runs.ts';
import { scripts, startScriptedProvider } from '../../../support/scripted-provider.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const ADDRESS = '192.0.2.1';

type Elsewhere = ConstructorParameters<typeof Introspection>[1]['elsewhere'];

async function open(elsewhere: Elsewhere = null) {
  const scripted = await startScriptedProvider();
  onTestFinished(() => scripted.close());
  let nowMs = 0;
  const { issuer } = scripted;
  const listener = { discovered: () => {}, introspected: () => {} };
  const known = {
    issuer,
    authorizationEndpoint: null,
    tokenEndpoint: null,
    keySetUrl: `${issuer}/keys`,
    revocationEndpoint: null,
    endSessionEndpoint: null,
    introspectionEndpoint: `${issuer}/introspect`,
  };
  const provider = new Provider(
    { ...PROVIDER_OPTIONS, issuer },
    { ...thisMachine, clock: new FrozenClock(), listener, changed: () => {}, known },
  );
  const introspection = new Introspection(
    {
      clientId: 'gateway',
      clientAuthentication: { kind: 'client_secret_post', secret: 's3cret' },
      maxInFlight: 8,
      maxTokens: 10,
    },
    {
      ...{ provider, listener, permits: new ProcessPermits(), elsewhere },
      clock: { epochMs: () => nowMs, monotonicMs: () => nowMs },
    },
  );
  const ask = async (token: string) => {
    const said = await introspection.ask(token, 5_000, ADDRESS);
    return said instanceof GatewayError ? said.status : said;
  };
  const question = async (token: string, maxAgeMs = 5_000) =>
    introspection.question(token, ADDRESS, maxAgeMs);
  const answer: NonNullable<Elsewhere> = asked => introspection.answer(asked);
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { scripted, ask, question, answer, pass };
}

test('whatever a provider answers, a token is active only if a JSON object says true', async () => {
  const { scripted, question } = await open();
  const object = fc.record(
    { active: fc.oneof(fc.boolean(), fc.constantFrom('true', 1, null, [true], { active: true })) },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    fc.tuple(object, fc.dictionary(fc.string(), fc.jsonValue())).map(parts => {
      const [last, more] = parts;
      return JSON.stringify({ ...more, ...last });
    }),
    fc.json(),
    fc.string(),
    fc.constantFrom(
      '',
      '{"active":true',
      '[{"active":true}]',
      '\ufeff{"active":true}',
      '{"active":false,"active":true}',
    ),
  );
  const type = fc.constantFrom('application/json', 'application/json;charset=utf-8', 'text/html', '');
  let asked = 0;
  await fc.assert(
    fc.asyncProperty(
      body,
      type,
      fc.constantFrom(200, 200, 200, 204, 302, 401, 500),
      async (text, media, status) => {
        scripted.introspection = response => {
          response.writeHead(status, { 'content-type': media, connection: 'close' });
          response.end(status === 204 ? undefined : text);
        };
        const told = await question(`token-${++asked}`);
        if ('error' in told) {
          expect([500, 503]).toContain(told.error.status);
          return;
        }
        expect([status, /^application\/json/.test(media)]).toEqual([200, true]);
        const said: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
        const active = (said as { readonly active?: unknown }).active;
        expect(typeof active).toBe('boolean');
        expect(told.members === null).toBe(active !== true);
      },
    ),
    played(1_000),
  );
});

test('a provider that fails is asked once a second about a token, however often a client tries', async () => {
  const { scripted, ask, pass } = await open();
  scripted.introspection = scripts.json(500, {});
  for (let i = 0; i < 5; i += 1) expect(await ask('one')).toBe(503);
  pass(999);
  expect(await ask('one')).toBe(503);
  expect(scripted.introspections).toHaveLength(1);
  expect(await ask('another')).toBe(503);
  expect(scripted.introspections).toHaveLength(2);
  scripted.introspection = scripts.json(200, { active: true });
  pass(1);
  expect(await ask('one')).toBe('active');
});

test('a thread has the main one ask, whose answer serves all while it is young enough for the one that asks', async () => {
  const main = await open();
  const worker = await open(async asked => structuredClone(await main.answer(structuredClone(asked))));
  main.scripted.introspection = scripts.json(200, { active: true, sub: 'ada' });
  const told = { members: { active: true, sub: 'ada' }, askedAtMs: 0 };
  expect(await worker.question('token')).toEqual(told);
  main.pass(4_999);
  expect(await worker.question('token')).toEqual(told);
  expect(main.scripted.introspections).toHaveLength(1);
  expect(await worker.question('token', 4_999)).toMatchObject({ askedAtMs: 4_999 });
  expect(main.scripted.introspections).toHaveLength(2);
  expect(worker.scripted.introspections).toEqual([]);
});

test('a negative answer of the main thread serves those that wait for it, and its failure is told as such', async () => {
  const main = await open();
  const worker = await open(async asked => structuredClone(await main.answer(structuredClone(asked))));
  main.scripted.introspection = scripts.json(200, { active: false });
  for (const count of [1, 2]) {
    expect(await worker.question('token')).toMatchObject({ members: null });
    expect(main.scripted.introspections).toHaveLength(count);
  }
  main.scripted.introspection = scripts.json(500, {});
  expect(await worker.question('token')).toMatchObject({ error: { status: 503 }, reached: true });
  expect(await worker.ask('token')).toBe(503);
  main.pass(1_000);
  main.scripted.introspection = scripts.json(401, { error: 'invalid_client' });
  expect(await worker.ask('token')).toBe(500);
  main.scripted.introspection = scripts.json(429, {}, { 'retry-after': '20' });
  const throttled = { error: { status: 503, fields: ['Retry-After', '20'] } };
  for (const token of ['another', 'third']) expect(await worker.question(token)).toMatchObject(throttled);
});

test('a thread asks the provider itself where the main one does not know it yet', async () => {
  const worker = await open(async () => null);
  worker.scripted.introspection = scripts.json(200, { active: true });
  expect(await worker.ask('token')).toBe('active');
  expect(worker.scripted.introspections).toHaveLength(1);
});
