import { describe, expect, onTestFinished, test } from 'vitest';
import { RpcCode } from '../../src/core/index.ts';
import { expectError } from '../support/error-object.ts';
import { accessLines, type IdentitySettings, startGatewayOf } from '../support/identity-gateway.ts';
import { providerFaults } from '../support/provider-faults.ts';
import { head } from '../support/requests.ts';
import { scripts, startScriptedProvider } from '../support/scripted-provider.ts';
import { expectNoSecretIn, secret } from '../support/secrets.ts';
import { json, redeeming } from '../support/sign-in-client.ts';
import { inTime } from '../support/test-clock.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { header, type Response } from '../support/wire/index.ts';

const BODY = {
  code: 'marker-code-1',
  redirectUri: 'https://app.example/marker-redirect',
  codeVerifier: 'marker-verifier-'.padEnd(43, 'v'),
};

/** Soon over, for a provider that does not answer. */
const IMPATIENT = { timeout: '1500ms' };
/** As long as one may wait on a machine that is busy. */
const PATIENT = { timeout: '60s' };

async function front(settings: Omit<IdentitySettings, 'issuer'> = {}) {
  const issuer = await startIssuer();
  for (const text of [...Object.values(BODY), 'marker-token', 'marker-page', 'We are sorry']) secret(text);
  return { issuer, ...(await startGatewayOf(issuer, { provider: PATIENT, ...settings })) };
}

/** Everything that a failed exchange promises beside its status. */
function expectFailed(response: Response, status: number, code: number): void {
  expectError(response, status, code);
  expect(header(response, 'retry-after') !== undefined).toBe(status === 503);
  expect(header(response, 'www-authenticate')).toBeUndefined();
  expectNoSecretIn('the response', response.body.toString());
}

describe('a provider that', () => {
  test.each(providerFaults)(
    '%s has been asked exactly once, also on a connection that has redeemed before',
    async (_, script, outcome, status, code) => {
      const { issuer, gateway } = await front({ provider: outcome === 'timed_out' ? IMPATIENT : PATIENT });
      const good = issuer.provider.token;
      const client = await gateway.connect();
      expect((await client.ask(redeeming(BODY))).status).toBe(200);
      issuer.provider.token = script;
      const asked = client.ask(redeeming(BODY));
      const response = await (outcome === 'timed_out' ? inTime(gateway.time, asked) : asked);
      expectFailed(response, status, code);
      expect(issuer.provider.tokenRequests).toHaveLength(2);
      expect((await gateway.metric('weir_sign_ins_total')).get(`{outcome="${outcome}"}`)).toBe(1);
      // The next one is served as if nothing had been, and by then nothing has been sent again.
      issuer.provider.token = good;
      expect((await client.ask(redeeming(BODY))).status).toBe(200);
      expect(issuer.provider.tokenRequests).toHaveLength(3);
    },
  );

  test('is unreachable is not asked, and the code is still valid when it is back', async () => {
    const { issuer, gateway } = await front();
    await issuer.provider.close();
    expectFailed(await gateway.ask(redeeming(BODY)), 503, RpcCode.unavailable);
    const again = await startScriptedProvider({ port: issuer.provider.port });
    onTestFinished(() => again.close());
    expect((await gateway.ask(redeeming(BODY))).status).toBe(200);
    expect([issuer.provider.tokenRequests.length, again.tokenRequests.length]).toEqual([0, 1]);
    expect(again.discoveries).toBe(0);
  });

  test('gets no more concurrent requests than allowed, and the other clients are told to retry', async () => {
    const { issuer, gateway } = await front({ provider: { max_in_flight: 3 } });
    const responses: (() => void)[] = [];
    const token = issuer.provider.token;
    issuer.provider.token = (response, socket) => void responses.push(() => token(response, socket));
    const running = [2, 3, 4].map(i => gateway.ask(redeeming(BODY), { localAddress: `127.0.0.${i}` }));
    await expect.poll(() => responses.length).toBe(3);
    for (let i = 0; i < 5; i += 1) expectFailed(await gateway.ask(redeeming(BODY)), 503, RpcCode.unavailable);
    for (const respond of responses) respond();
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(issuer.provider.tokenRequests).toHaveLength(3);
  });

  test('is asked by one address at most a quarter of the times it may be, and serves another meanwhile', async () => {
    const { issuer, gateway } = await front({ provider: { max_in_flight: 8 } });
    const token = issuer.provider.token;
    issuer.provider.token = scripts.hang;
    const running = [1, 2].map(() => gateway.ask(redeeming(BODY)));
    await expect.poll(() => issuer.provider.tokenRequests.length).toBe(2);
    expectFailed(await gateway.ask(redeeming(BODY)), 503, RpcCode.unavailable);
    expect(accessLines(gateway).at(-1)).toMatchObject({ status: 503, cap: 'max_in_flight' });
    issuer.provider.token = token;
    expect((await gateway.ask(redeeming(BODY), { localAddress: '127.0.0.2' })).status).toBe(200);
    await inTime(gateway.time, Promise.all(running));
    expect((await gateway.ask(redeeming(BODY))).status).toBe(200);
  });

  test('is at work when its client goes is not asked again, and keeps nothing open', async () => {
    const { issuer, gateway } = await front({ provider: IMPATIENT });
    issuer.provider.token = scripts.hang;
    const client = await gateway.connect();
    await client.send(redeeming(BODY));
    await expect.poll(() => issuer.provider.tokenRequests.length).toBe(1);
    client.reset();
    const timedOut = async () => (await gateway.metric('weir_sign_ins_total')).get('{outcome="timed_out"}');
    await gateway.time.advanceUntil('it has timed out', async () => (await timedOut()) === 1);
    expect(issuer.provider.tokenRequests).toHaveLength(1);
    expect((await gateway.metric('weir_requests_in_flight')).get('')).toBe(0);
  });

  test('sends more than the contract has, or other types, cannot add to the client’s answer', async () => {
    const { issuer, gateway } = await front();
    issuer.provider.token = scripts.json(200, {
      ...{ access_token: 'opaque', token_type: 'bearer', expires_in: '60', refresh_expires_in: 'soon' },
      ...{ refresh_token: 7, id_token: null, session_state: {}, scope: ['a'], 'not-before-policy': -1 },
      ...{ accessToken: 'x', admin: true },
    });
    const response = await gateway.ask(redeeming(BODY));
    expect(json(response)).toEqual({
      accessToken: 'opaque',
      tokenType: 'Bearer',
      expiresIn: 60,
      notBeforePolicy: 0,
      // Some providers write a list.
      scope: 'a',
    });
  });
});

test('requests that are pipelined during an exchange wait for it and are answered in order', async () => {
  const { issuer, gateway } = await front();
  const client = await gateway.connect();
  void client.send(
    redeeming(BODY) + redeeming({ code: 1 }) + head('GET /v1/anonymous/authorize-url') + redeeming(BODY),
  );
  const statuses: number[] = [];
  for (let i = 0; i < 4; i += 1) statuses.push((await client.answer()).status);
  expect(statuses).toEqual([200, 400, 200, 200]);
  expect(issuer.provider.tokenRequests).toHaveLength(2);
});
