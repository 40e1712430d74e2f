import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { identityConfig } from '../support/identity-gateway.ts';
import { scripts } from '../support/scripted-provider.ts';
import { redeeming } from '../support/sign-in-client.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { Account, type Outcome } from './account.ts';
import { expectAtRest, type Fault, underFault, waitFor } from './fault.ts';
import { Load } from './load.ts';
import { killed, late, type Relay, startRelay, stopped } from './relay.ts';
import { frontOf, startService } from './service.ts';
import { tell } from './table.ts';

/** Two clients who sign in again and again, each time with another code. */
class SignIns {
  /** How each ended, by its code. */
  readonly outcomes = new Map<string, Outcome>();
  readonly #clients: Promise<void>[];
  #stopped = false;
  #codes = 0;

  constructor(gateway: TestGateway) {
    this.#clients = [this.#run(gateway), this.#run(gateway)];
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

  async #run(gateway: TestGateway): Promise<void> {
    while (!this.#stopped) {
      const code = `code-${this.#codes++}`;
      const { status } = await gateway.ask(redeeming({ code, redirectUri: 'https://app.example/callback' }));
      this.outcomes.set(code, status === 200 ? 'answered' : `${status}`);
    }
  }
}

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
  };
  return { relay, url, issuer: await startIssuer({ port, document }) };
}

function wrong(_relay: Relay, { provider }: TestIssuer): Fault {
  const { token, keys } = provider;
  const begin = () => Object.assign(provider, { token: scripts.html(200), keys: scripts.html(200) });
  return { begin, end: () => Object.assign(provider, { token, keys }) };
}

test.each<[string, (relay: Relay, issuer: TestIssuer) => Fault]>([
  ['Sign-ins while the provider is killed, and started again', killed],
  ['Sign-ins while the provider is stopped, and goes on', stopped],
  ['Sign-ins while the provider answers later than `timeout`', late],
  ['Sign-ins while the provider answers with pages of HTML', wrong],
])('%s', async (name, trouble) => {
  const account = new Account();
  const service = await startService(account);
  const { relay, url, issuer } = await relayedIssuer();
  const settings = {
    issuer: url,
    provider: { timeout: '500ms' },
    config: { ...frontOf([service], { route: {} }), log: { level: 'info', access: false } },
  };
  const gateway = await startGatewayProcess(await identityConfig(settings, { port: 0 }), { h2c: true });
  const bearer = (subject: string) => `Bearer ${issuer.token({ iss: url, sub: subject })}`;
  const load = new Load(account, [gateway.port], { fields: { authorization: bearer('alice') } });
  const signIns = new SignIns(gateway);
  await waitFor('some have signed in', () => signIns.outcomes.size > 10);
  const { size } = signIns.outcomes;
  const seen = await underFault(load, {
    ...trouble(relay, issuer),
    isNoticed: () => signIns.last !== 'answered',
    meanwhile: async () => {
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
    isHealed: () => signIns.last === 'answered',
  });
  await signIns.stop();
  const counts = signIns.counts(size);
  await expectAtRest(load, [gateway]);
  const redeemed = issuer.provider.tokenRequests.map(
    ({ body }) => new URLSearchParams(body).get('code') ?? '',
  );
  expect(new Set(redeemed).size, 'each code is sent once').toBe(redeemed.length);
  const answered = [...signIns.outcomes].filter(([, outcome]) => outcome === 'answered');
  expect(redeemed).toEqual(expect.arrayContaining(answered.map(([code]) => code)));
  expect(gateway.output).toContain('"type":"sign-in"');
  const mayEnd = ['503', '504'] as const;
  expect(['answered', ...mayEnd]).toEqual(expect.arrayContaining(Object.keys(counts)));
  tell(name, { ...seen, request: counts }, mayEnd);
});
