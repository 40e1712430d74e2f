import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { freePort } from '../support/free-port.ts';
import { buildGo } from '../support/go.ts';
import { atEnd } from '../support/lifetime.ts';
import { expectSecretsKept } from '../support/secrets.ts';
import { tempText } from '../support/temp.ts';
import { HYDRA_JWT, HYDRA_OPAQUE } from './imitations/index.ts';
import { REDIRECT, startBefore } from './real-provider.ts';

/** The first build takes two and a half minutes of processor time. */
const BUILD_MS = 1_800_000;
const STARTED_MS = 60_000;
const TEST_MS = 3 * STARTED_MS;
const AUDIENCE = 'https://api.example.com';

let program = '';
beforeAll(() => {
  // Its `memory` is SQLite.
  program = buildGo(join(import.meta.dirname, 'hydra'), 'github.com/ory/hydra/v2', ['sqlite', 'json1']);
}, BUILD_MS);

/** Starts Ory Hydra with its data in memory; returns its issuer and the address of its admin API. */
async function startHydra(accessToken: 'jwt' | 'opaque') {
  const port = await freePort(1);
  const [issuer, admin] = [port, port + 1].map(each => `http://127.0.0.1:${each}`);
  if (issuer === undefined || admin === undefined) throw new Error('no port');
  const pages = await startPages(admin);
  const config = {
    dsn: 'memory',
    serve: { public: { host: '127.0.0.1', port }, admin: { host: '127.0.0.1', port: port + 1 } },
    urls: { self: { issuer }, login: `${pages}/login`, consent: `${pages}/consent` },
    strategies: { access_token: accessToken },
    secrets: { system: ['a-secret-of-the-test'] },
    sqa: { opt_out: true },
  };
  const file = await tempText('hydra.yaml', stringify(config));
  const hydra = spawn(program, ['serve', 'all', '--dev', '--config', file], { stdio: 'ignore' });
  atEnd(() => void hydra.kill());
  const isReady = () =>
    fetch(`${issuer}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(isReady, { timeout: STARTED_MS, interval: 100 }).toBe(true);
  // Else it makes keys of 4,096 bits when it is first asked for them, which may take longer than it has to answer.
  for (const set of ['hydra.openid.id-token', 'hydra.jwt.access-token'])
    await send(`${admin}/admin/keys/${set}`, 'PUT', { keys: [privateKey(set)] });
  await send(`${admin}/admin/clients`, 'POST', {
    client_id: 'gateway',
    client_secret: 'hydra-secret',
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: [REDIRECT],
    scope: 'openid offline',
    audience: [AUDIENCE],
  });
  return { issuer, admin };
}

function privateKey(id: string): object {
  const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return { ...key.export({ format: 'jwk' }), kid: `key of ${id}`, alg: 'RS256', use: 'sig' };
}

/** The pages for login and consent that Hydra wants from its operator: they let everyone in, as ada. */
async function startPages(admin: string): Promise<string> {
  const requests = `${admin}/admin/oauth2/auth/requests`;
  const server = createServer(async ({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://pages');
    const step = pathname.slice(1);
    const challenge = `${step}_challenge=${searchParams.get(`${step}_challenge`)}`;
    const asked = await send(`${requests}/${step}?${challenge}`, 'GET');
    const answer =
      step === 'login'
        ? { subject: 'ada' }
        : {
            grant_scope: asked['requested_scope'],
            grant_access_token_audience: asked['requested_access_token_audience'],
          };
    const accepted = await send(`${requests}/${step}/accept?${challenge}`, 'PUT', answer);
    response.writeHead(302, { location: String(accepted['redirect_to']) }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function send(url: string, method: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} says ${response.status}: ${text}`);
  return text === '' ? {} : JSON.parse(text);
}

test(
  'Ory Hydra itself signs users in with JWTs that pass, and with nothing else that does',
  async () => {
    const { issuer } = await startHydra('jwt');
    const config = HYDRA_JWT.config.replaceAll('https://hydra.example.com', issuer);
    const { gateway, upstream, signIn, refresh, refreshRefused, ask, handedOut } = await startBefore(
      config,
      'hydra-secret',
      { route: { require: { scopes: ['offline'] } } },
    );
    const signedIn = await signIn();
    const refreshed = await refresh(signedIn.refreshToken);
    for (const { accessToken, idToken, refreshToken } of [signedIn, refreshed]) {
      expect(await ask(accessToken)).toBe('200');
      expect(await ask(idToken)).toBe('401 audience');
      expect(await ask(refreshToken)).toBe('401 malformed');
    }
    expect(upstream.requests[0]?.fields.join()).toMatch(/x-user,ada/i);
    expect(handedOut()).toEqual([]);
    expect(await refreshRefused(signedIn.refreshToken)).toBe(401);
    await expectSecretsKept(gateway);
  },
  TEST_MS,
);

test(
  'Ory Hydra itself is asked about its opaque tokens, and knows refresh tokens and revoked ones',
  async () => {
    const { issuer, admin } = await startHydra('opaque');
    const config = HYDRA_OPAQUE.config
      .replaceAll('https://hydra.example.com', issuer)
      .replaceAll('http://hydra-admin.identity.svc:4445', admin);
    const { gateway, signIn, refresh, ask, handedOut } = await startBefore(config, 'hydra-secret', {
      route: { require: { scopes: ['offline'] } },
    });
    const signedIn = await signIn();
    expect(signedIn.accessToken).toMatch(/^ory_at_/);
    expect(await ask(signedIn.accessToken)).toBe('200');
    expect(await ask(signedIn.idToken)).toBe('401 audience');
    expect(await ask(signedIn.refreshToken)).toBe('401 token_kind');
    const refreshed = await refresh(signedIn.refreshToken);
    expect(await ask(refreshed.accessToken)).toBe('200');
    const other = await signIn();
    const revoked = new URLSearchParams({ token: other.accessToken });
    const authorization = `Basic ${btoa('gateway:hydra-secret')}`;
    const answer = await fetch(`${issuer}/oauth2/revoke`, {
      method: 'POST',
      headers: { authorization },
      body: revoked,
    });
    expect(answer.status).toBe(200);
    // The first gateway has asked about it, when it judged what the sign-in handed out.
    const fresh = await startBefore(config, 'hydra-secret');
    expect(await fresh.ask(other.accessToken)).toBe('401 inactive');
    expect(handedOut()).toEqual([]);
    await expectSecretsKept(gateway);
  },
  TEST_MS,
);
