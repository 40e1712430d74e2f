import { expect, onTestFinished, test } from 'vitest';
import { systemClock, thisMachine } from '../../src/core/index.ts';
import { Provider } from '../../src/identity/signin/index.ts';
import { freePort } from '../support/free-port.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { identityConfig } from '../support/identity-gateway.ts';
import { PROVIDER_OPTIONS } from '../support/identity-options.ts';
import { head } from '../support/requests.ts';
import { type Script, scripts, unsignedJwt } from '../support/scripted-provider.ts';
import { redeeming } from '../support/sign-in-client.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { Account, type Outcome } from './account.ts';
import { expectAtRest, type Fault, underFault, waitFor } from './fault.ts';
import { Load } from './load.ts';
import { killed, late, type Relay, startRelay, stopped } from './relay.ts';
import { frontOf, startService } from './service.ts';
import { tell } from './table.ts';

/** Two clients who ask the provider for something by the gateway, again and again, each time about something else. */
class Askers {
  /** How each ended, by its number. */
  readonly outcomes = new Map<number, Outcome>();
  readonly #clients: Promise<void>[];
  #stopped = false;
  #begun = 0;

  /** @param asking the request with this number, which is answered with 200 */
  constructor(gateway: TestGateway, asking: (number: number) => string) {
    this.#clients = [this.#run(gateway, asking), this.#run(gateway, asking)];
    onTestFinished(() => this.stop());
  }

  get last(): Outcome | undefined {
    return [...this.outcomes.values()].at(-1);
  }

  /** How many have ended in each way since so many had. */
  counts(from: number): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const outcome of [...this.outcomes.values()].slice(from))
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    return counts;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }

  async #run(gateway: TestGateway, asking: (number: number) => string): Promise<void> {
    while (!this.#stopped) {
      const number = this.#begun++;
      const { status } = await gateway.ask(asking(number));
      this.outcomes.set(number, status === 200 ? 'answered' : `${status}`);
    }
  }
}

/** The provider is asked about each token that comes here. */
const ASKED = { path: '/asked', authentication: 'required', introspection: true, respond: { status: 200 } };
const codeOf = (number: number) => `code-${number}`;

/** Starts an issuer that is reached by a relay alone. */
async function relayedIssuer() {
  const port = await freePort();
  const relay = await startRelay(port);
  const url = `http://127.0.0.1:${relay.port}`;
  const document = {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/keys`,
    introspection_endpoint: `${url}/introspect`,
  };
  return { relay, url, issuer: await startIssuer({ port, document }) };
}

function wrong(_relay: Relay, { provider }: TestIssuer): Fault {
  const { token, keys } = provider;
  const begin = () => Object.assign(provider, { token: scripts.html(200), keys: scripts.html(200) });
  return { begin, end: () => Object.assign(provider, { token, keys }) };
}

/** Gives this answer one byte further each time before its connection ends, by a reset or properly, and never the last one. */
function dying(body: object) {
  const text = JSON.stringify(body);
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${text.length}`;
  const answer = `${head}\r\n\r\n${text}`;
  let given = 0;
  const script: Script = (_, socket) => {
    const bytes = answer.slice(0, given % answer.length);
    if (given++ % 2 === 0) socket.end(bytes);
    else socket.write(bytes, () => socket.resetAndDestroy());
  };
  return { script, isThrough: () => given >= answer.length };
}

function cut(_relay: Relay, { provider, key }: TestIssuer): Fault {
  const { token, keys, introspection } = provider;
  const answers = {
    token: dying({ access_token: unsignedJwt({ sub: 'alice' }), token_type: 'Bearer' }),
    keys: dying({ keys: [key.jwk] }),
    introspection: dying({ active: true }),
  };
  const begin = () => {
    for (const name of ['token', 'keys', 'introspection'] as const) provider[name] = answers[name].script;
  };
  const meanwhile = () =>
    waitFor('each byte was the last', () => Object.values(answers).every(({ isThrough }) => isThrough()));
  return { begin, meanwhile, end: () => Object.assign(provider, { token, keys, introspection }) };
}

test.each<[string, (relay: Relay, issuer: TestIssuer) => Fault]>([
  ['Sign-ins while the provider is killed, and started again', killed],
  ['Sign-ins while the provider is stopped, and goes on', stopped],
  ['Sign-ins while the provider answers later than `timeout`', late],
  ['Sign-ins while the provider answers with pages of HTML', wrong],
  ['Sign-ins while the provider dies after each byte of its answers', cut],
])('%s', async (name, trouble) => {
  const account = new Account();
  const service = await startService(account);
  const { relay, url, issuer } = await relayedIssuer();
  const settings = {
    issuer: url,
    provider: { timeout: '500ms' },
    // The keys are asked for all the time.
    tokens: { key_set: { refresh: '1s', cooldown: '1ms' } },
    config: {
      ...frontOf([service], { route: {}, routes: [ASKED] }),
      log: { level: 'info', access: false },
    },
  };
  const gateway = await startGatewayProcess(await identityConfig(settings, { port: 0 }), { h2c: true });
  const bearer = (subject: string) => `Bearer ${issuer.token({ iss: url, sub: subject })}`;
  const load = new Load(account, [gateway.port], { fields: { authorization: bearer('alice') } });
  const redirectUri = 'https://app.example/callback';
  const signIns = new Askers(gateway, number => redeeming({ code: codeOf(number), redirectUri }));
  const inquiries = new Askers(gateway, number =>
    head('GET /asked', `Authorization: ${bearer(`${number}`)}`),
  );
  await waitFor('some have signed in', () => signIns.outcomes.size > 10);
  const { size } = signIns.outcomes;
  const fault = trouble(relay, issuer);
  const seen = await underFault(load, {
    isNoticed: () => signIns.last !== 'answered',
    ...fault,
    meanwhile: async () => {
      await fault.meanwhile?.();
      const failed = signIns.outcomes.size;
      await waitFor('more fail', () => signIns.outcomes.size > failed + 10);
      // Tokens are checked by the keys that are known, also new ones.
      const newcomer = new Load(account, [gateway.port], {
        ...{ http1: 1, http2: 0, webSockets: 0 },
        fields: { authorization: bearer(name) },
      });
      await load.passes(60);
      await newcomer.stop();
    },
    isHealed: () => signIns.last === 'answered' && inquiries.last === 'answered',
  });
  await signIns.stop();
  await inquiries.stop();
  const counts = signIns.counts(size);
  await expectAtRest(load, [gateway]);
  const redeemed = issuer.provider.tokenRequests.map(
    ({ body }) => new URLSearchParams(body).get('code') ?? '',
  );
  expect(new Set(redeemed).size, 'each code is sent once').toBe(redeemed.length);
  const answered = [...signIns.outcomes].filter(([, outcome]) => outcome === 'answered');
  expect(redeemed).toEqual(expect.arrayContaining(answered.map(([number]) => codeOf(number))));
  expect(gateway.output).toContain('"type":"sign-in"');
  const mayEnd = ['503', '504'] as const;
  expect(['answered', ...mayEnd]).toEqual(expect.arrayContaining(Object.keys(counts)));
  expect(['answered', ...mayEnd]).toEqual(expect.arrayContaining(Object.keys(inquiries.counts(0))));
  tell(name, { ...seen, request: counts }, mayEnd);
});

test('a provider whose discovery document dies after each byte is known once all of it has come', async () => {
  const issuer = await startIssuer();
  const { discovery } = issuer.provider;
  const document = {
    issuer: issuer.url,
    authorization_endpoint: `${issuer.url}/authorize`,
    token_endpoint: `${issuer.url}/token`,
  };
  const { script, isThrough } = dying({ ...document, jwks_uri: `${issuer.url}/keys` });
  issuer.provider.discovery = script;
  const outcomes: string[] = [];
  // It asks again at once, not after seconds.
  const clock = { ...systemClock, after: (_: number, run: () => void) => systemClock.after(1, run) };
  const provider = new Provider(
    { ...PROVIDER_OPTIONS, issuer: issuer.url },
    { ...thisMachine, clock, listener: { discovered: ({ outcome }) => void outcomes.push(outcome) } },
  );
  onTestFinished(() => provider.stop());
  provider.start();
  await waitFor('each byte was the last', isThrough);
  expect([new Set(outcomes), provider.ready]).toEqual([new Set(['failed']), false]);
  issuer.provider.discovery = discovery;
  await waitFor('it is known', () => provider.ready);
});
