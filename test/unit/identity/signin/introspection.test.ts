import { expect, onTestFinished, test } from 'vitest';
import { GatewayError, ProcessPermits, thisMachine } from '../../../../src/core/index.ts';
import { Provider } from '../../../../src/identity/signin/index.ts';
import { Introspection } from '../../../../src/identity/signin/introspection.ts';
import { PROVIDER_OPTIONS } from '../../../support/identity-options.ts';
import { scripts, startScriptedProvider } from '../../../support/scripted-provider.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const ADDRESS = '192.0.2.1';

async function open() {
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
      ...{ provider, listener, permits: new ProcessPermits() },
      clock: { epochMs: () => nowMs, monotonicMs: () => nowMs },
    },
  );
  const ask = async (token: string) => {
    const said = await introspection.ask(token, 5_000, ADDRESS);
    return said instanceof GatewayError ? said.status : said;
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { scripted, ask, pass };
}

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
