import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { threadHost } from '../../src/process/workers/index.ts';
import { ADMIN_TOKEN, ApiClient } from '../support/admin-api.ts';
import { startGateway } from '../support/gateway.ts';
import { holdingHost } from '../support/holding-host.ts';
import { type IdentitySettings, identityConfig } from '../support/identity-gateway.ts';
import { rateOf } from '../support/limits.ts';
import { logoutOf, PUSH_PATH, pushOf, toAdmin } from '../support/notices.ts';
import { startRedis } from '../support/redis.ts';
import { redisDecides } from '../support/redis-gateway.ts';
import { head, withBody } from '../support/requests.ts';
import { dear, runs } from '../support/runs.ts';
import { secret } from '../support/secrets.ts';
import { tempText } from '../support/temp.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { bundledScript } from '../support/weir-bundle.ts';
import { startUpstream } from '../support/wire/index.ts';
import { clientsOfEach } from '../support/workers.ts';

const WORKERS = 3;
const ROUNDS = runs(3, 1);
const SIGN_OUT = '/sign-out';
const LOGOUT = '/idp/logout';
const APP = 'client=app';

/** Workers in threads of their own, and connections that all of them serve. */
async function front(settings: Pick<IdentitySettings, 'config' | 'limits'> = {}) {
  const issuer = await startIssuer();
  const upstream = await startUpstream();
  const token_file = await tempText('admin-token', ADMIN_TOKEN);
  const { host, hold, holds, release } = holdingHost(
    threadHost(WORKERS, pathToFileURL(await bundledScript('patient-worker'))),
  );
  const config = {
    workers: WORKERS,
    listen: { http: '127.0.0.1:0', admin: { address: '127.0.0.1:0', token_file } },
    sign_in: { sign_out: SIGN_OUT, sign_out_ends: 'nothing' },
    ...settings.config,
  };
  const provider = { notices: { not_before_push: 'admin', back_channel_logout: LOGOUT } };
  const of = await identityConfig({ issuer: issuer.url, provider, ...settings, config }, upstream);
  const gateway = await startGateway({ ...of, host });
  onTestFinished(release);
  await gateway.ready();
  const clients = [...(await clientsOfEach(gateway, WORKERS)), ...(await clientsOfEach(gateway, WORKERS))];
  const askAll = (bearer: string, path = '/things') =>
    Promise.all(clients.map(client => client.ask(head(`GET ${path}`, bearer))));
  const statuses = async (bearer: string, path?: string) =>
    (await askAll(bearer, path)).map(({ status }) => status);
  const all = (status: number) => clients.map(() => status);

  /** Has something done while no worker hears of it, and expects that it is answered once all have. */
  const expectInAll = async (
    bearer: string,
    [before, after]: [number, number],
    act: () => Promise<number>,
  ) => {
    expect(await statuses(bearer)).toEqual(all(before));
    hold();
    let isAnswered = false;
    const answer = act().finally(() => {
      isAnswered = true;
    });
    await waitFor('the workers are to be told', () => holds('told'));
    expect(await statuses(bearer)).toContain(before);
    expect(isAnswered).toBe(false);
    release();
    expect(await answer).toBeLessThan(300);
    expect(await statuses(bearer)).toEqual(all(after));
  };
  return { issuer, gateway, api: await ApiClient.of(gateway), askAll, statuses, all, expectInAll };
}

const rounds = Array.from({ length: ROUNDS }, (_, round) => round);
const nowS = () => Math.floor(Date.now() / 1_000);
const bucketOf = (path: string) => ({
  buckets: { things: { user: '6/1h' } },
  routes: { [path]: 'things' },
});

test('once a sign-out, a notice or a change by the admin API is answered, it holds at every worker, and for all together', async () => {
  const path = '/counted';
  const limits = bucketOf(path);
  const { issuer, gateway, api, askAll, statuses, all, expectInAll } = await front({ limits });
  const json = 'Content-Type: application/json';
  const form = 'Content-Type: application/x-www-form-urlencoded';
  for (const round of rounds) {
    const bearer = issuer.bearer({ sid: `session-${round}` });
    const body = JSON.stringify({ refreshToken: secret('a-refresh-token') });
    await expectInAll(bearer, [200, 401], async () => {
      return (await gateway.ask(withBody(`POST ${SIGN_OUT}`, body, json, bearer))).status;
    });
  }
  for (const round of rounds) {
    const sid = `told-${round}`;
    await expectInAll(issuer.bearer({ sid }), [200, 401], async () => {
      const body = `logout_token=${logoutOf(issuer, { sid })}`;
      return (await gateway.ask(withBody(`POST ${LOGOUT}`, body, form))).status;
    });
  }
  const startS = nowS();
  for (const round of rounds) {
    const iat = startS - 100 + round;
    const push = pushOf(issuer, iat + 1, { expiration: startS + 30 + round });
    await expectInAll(
      issuer.bearer({ iat }),
      [200, 401],
      async () => (await toAdmin(gateway, PUSH_PATH, push)).status,
    );
  }
  for (const round of rounds) {
    const bearer = issuer.bearer({ sub: `user-${round}` });
    const who = { client: 'app', subject: `user-${round}` };
    let id = '';
    await expectInAll(bearer, [200, 429], async () => {
      const added = await api.call('POST', '/api/restrictions', { body: { ...who, for: '10m' } });
      ({ id } = added.body as { id: string });
      return added.status;
    });
    await expectInAll(
      bearer,
      [429, 200],
      async () => (await api.call('DELETE', `/api/restrictions/${id}`)).status,
    );
  }
  for (const round of rounds) {
    const bearer = issuer.bearer({ sub: `counted-${round}` });
    expect(await statuses(bearer, path)).toEqual(all(200));
    expect(await statuses(bearer, path)).toEqual(all(429));
    await api.call('DELETE', `/api/buckets?${APP}&subject=counted-${round}&bucket=things`);
    const remaining = (await askAll(bearer, path)).map(response => rateOf(response).remaining);
    expect(remaining.sort()).toEqual([0, 1, 2, 3, 4, 5]);
  }
});

dear(
  'a bucket that is reset in Redis is full at every worker: none repeats a refusal that it remembers',
  async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const store = { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s' };
    const { issuer, gateway, api, statuses, all, expectInAll } = await front({
      config: { store },
      limits: bucketOf('/things'),
    });
    await redisDecides(gateway);
    for (const round of rounds) {
      const bearer = issuer.bearer({ sub: `user-${round}` });
      expect(await statuses(bearer)).toEqual(all(200));
      const reset = `/api/buckets?${APP}&subject=user-${round}&bucket=things`;
      await expectInAll(bearer, [429, 200], async () => (await api.call('DELETE', reset)).status);
    }
  },
);
