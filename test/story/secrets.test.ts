import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import {
  type IdentitySettings,
  identityConfig,
  startGatewayOf,
  startIdentityGateway,
} from '../support/identity-gateway.ts';
import { providerFaults } from '../support/provider-faults.ts';
import { head, withBody } from '../support/requests.ts';
import { type Script, scripts } from '../support/scripted-provider.ts';
import { expectNoSecretIn, secret } from '../support/secrets.ts';
import { json, redeeming } from '../support/sign-in-client.ts';
import { tempFolder } from '../support/temp.ts';
import { inTime } from '../support/test-clock.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { aMinuteAgo, startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { issuerKey, signToken } from '../support/token-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { NoResponse, responseOk, startUpstream } from '../support/wire/index.ts';

const STRANGER = issuerKey('ES256', 'first');

/** A gateway that logs all it can, as a process: what it writes to anywhere is seen. */
async function front(settings: Omit<IdentitySettings, 'issuer'> = {}) {
  const issuer = await startIssuer();
  const upstream = await startUpstream(responseOk);
  const given: IdentitySettings = {
    issuer: issuer.url,
    secret: 'marker-client-secret',
    tokens: { key_set: { cooldown: '20ms' } },
    // A process that stands still may find the provider's answer only later.
    provider: { timeout: '60s' },
    limits: { failed_verifications: '20/1h' },
    routes: [
      { path: '/optional', authentication: 'optional' },
      { path: '/none/{id}', authentication: 'none' },
    ],
    ...settings,
  };
  return { issuer, upstream, gateway: await startGatewayProcess(await identityConfig(given, upstream)) };
}

/** Everything that the gateway has said anywhere but in its responses, after all of it was written. */
async function expectQuiet(gateway: GatewayProcess): Promise<void> {
  for (const path of ['/metrics', '/readyz', '/healthz', '/status', '/status?marker-query', '/']) {
    expectNoSecretIn(path, (await gateway.admin(path)).text);
  }
  gateway.signal('SIGTERM');
  expect(await gateway.exit).toBe(0);
  expectNoSecretIn('the output', gateway.output);
  const lines = gateway.output.split('\n').filter(line => line !== '');
  expect(lines.length).toBeGreaterThan(3);
  for (const line of lines) expect(JSON.parse(line), line).toBeTypeOf('object');
}

/** Sends it and looks through the response, where there is one. Returns its status. */
async function ask(gateway: TestGateway, bytes: string): Promise<number> {
  try {
    const response = await gateway.ask(bytes);
    const told = [...response.fields, response.body.toString('latin1')].join('\n');
    if (response.status !== 200) expectNoSecretIn(`a ${response.status}`, told);
    return response.status;
  } catch (error) {
    if (error instanceof NoResponse) return 0;
    throw error;
  }
}

function marker(what: string): string {
  return secret(`marker-${what}-${crypto.randomUUID()}`);
}

const redeemingOf = (more: Readonly<Record<string, string>> = {}) =>
  redeeming({ code: marker('code'), redirectUri: `https://app.example/${marker('redirect')}`, ...more });

/** Repeats to the client whatever it was sent, as errors of providers do at times. */
const echo = (issuer: TestIssuer, status: number, ...more: string[]): Script => {
  return (response, socket) => {
    const request = issuer.provider.tokenRequests.at(-1);
    const [, credentials = ''] = request?.headers.authorization?.split(' ') ?? [];
    // The log cuts what is long, so the first ones count.
    const everything = [
      secret(credentials),
      issuer.token().split('.')[2],
      ...more,
      ...new URLSearchParams(request?.body).values(),
    ].join(' ');
    const error = { error: `invalid_grant ${everything}`, error_description: everything };
    scripts.json(status, { ...error, error_uri: `https://x/?${everything}` })(response, socket);
  };
};

test('a sign-in never reveals a code, token or secret, however it ends', async () => {
  const { issuer, gateway } = await front();
  const tokens = {
    access_token: issuer.token({ sid: marker('sid') }),
    refresh_token: marker('refresh'),
    id_token: issuer.token({ typ: 'ID' }),
    session_state: marker('session'),
  };
  issuer.provider.token = scripts.tokens(tokens);
  const verifier = secret(marker('verifier').slice(0, 50).padEnd(43, 'v'));
  const response = await gateway.ask(redeemingOf({ codeVerifier: verifier }));
  expect(json(response)).toMatchObject({
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    idToken: tokens.id_token,
    sessionState: tokens.session_state,
  });

  for (const text of ['marker-token', 'marker-page', 'We are sorry']) secret(text);
  for (const [, script, outcome, status] of providerFaults) {
    if (outcome === 'timed_out') continue;
    issuer.provider.token = script;
    expect(await ask(gateway, redeemingOf({ codeVerifier: verifier }))).toBe(status);
  }
  for (const status of [400, 401, 403, 500]) {
    issuer.provider.token = echo(issuer, status, 'marker-client-secret');
    expect(await ask(gateway, redeemingOf())).not.toBe(200);
  }
  await issuer.provider.close();
  expect(await ask(gateway, redeemingOf())).toBe(503);

  // What goes wrong before the provider is asked.
  for (const body of [
    `{"code":"${marker('code')}"`,
    `{"code":7,"redirectUri":"${marker('redirect')}"}`,
    marker('body'),
  ]) {
    expect(await ask(gateway, redeeming(Buffer.from(body)))).toBe(400);
  }
  expect(
    await ask(
      gateway,
      withBody('POST /v1/anonymous/auth', marker('body'), `Content-Type: ${marker('type')}`),
    ),
  ).toBe(415);
  expect(await ask(gateway, head(`POST /v1/anonymous/auth?code=${marker('query')}`))).toBe(400);
  expect(await ask(gateway, head(`DELETE /v1/anonymous/auth?code=${marker('query')}`))).toBe(405);
  await expectQuiet(gateway);
});

test('a sign-in that has no answer in time never reveals its code', async () => {
  const issuer = await startIssuer();
  // The end of the test looks through its log and its metrics.
  const { gateway } = await startGatewayOf(issuer, { secret: 'marker-client-secret' });
  const { tokenRequests } = issuer.provider;
  for (const [, script, outcome, status] of providerFaults) {
    if (outcome !== 'timed_out') continue;
    issuer.provider.token = script;
    const before = tokenRequests.length;
    const asked = ask(gateway, redeemingOf());
    await waitFor('the provider is asked', () => tokenRequests.length > before);
    expect(await inTime(gateway.time, asked)).toBe(status);
  }
});

test('a request never reveals a token, key, query or path value, however it ends', async () => {
  const { issuer, upstream, gateway } = await front();
  const forged = () =>
    `Authorization: Bearer ${secret(signToken(STRANGER, issuer.claims({ ...aMinuteAgo(), jti: marker('jti') })))}`;
  const unknown = () =>
    `Authorization: Bearer ${secret(signToken(STRANGER, issuer.claims(), { kid: marker('kid') }))}`;
  const target = () => `/things/${marker('path')}?q=${marker('query')}`;
  const get = (line: string, path = target()) => head(`GET ${path}`, line, `Cookie: sid=${marker('cookie')}`);

  const good = issuer.bearer();
  expect(await ask(gateway, get(good))).toBe(200);
  expect(await ask(gateway, get(good, `/none/${marker('path')}?q=${marker('query')}`))).toBe(200);
  const refused = [
    'X: y',
    `Authorization: ${marker('scheme')} x`,
    `Authorization: Basic ${marker('password')}`,
    `Authorization: Bearer ${marker('token')}`,
    `Authorization: Bearer ${marker('token')}.${marker('token')}.${marker('token')}`,
    ...[
      { exp: 1 },
      { aud: marker('aud') },
      { iss: marker('iss') },
      { typ: marker('typ') },
      { sub: undefined },
    ].map(claims => issuer.bearer(claims)),
    issuer.bearer({}, { alg: marker('alg') }),
    issuer.bearer({}, { crit: [marker('crit')] }),
    forged(),
  ];
  for (const line of refused) expect(await ask(gateway, get(line)), line).toBe(401);
  expect([401, 503]).toContain(await ask(gateway, get(unknown())));
  issuer.provider.keys = scripts.json(200, { keys: marker('key-set'), error: marker('key-set') });
  await waitFor('the keys cannot be had', async () => {
    await ask(gateway, get(unknown()));
    return (await gateway.metric('weir_key_set_fetches_total')).has('{outcome="failed"}');
  });
  let status = 0;
  for (let i = 0; i < 40 && status !== 429; i += 1) status = await ask(gateway, get(forged()));
  expect(status).toBe(429);

  // What is no request, or none that can be served.
  expect(await ask(gateway, head(`GET ${target()}`, good, good))).toBe(400);
  expect(await ask(gateway, head(`GET /../${marker('path')}?q=${marker('query')}`, good))).toBe(400);
  expect(
    await ask(
      gateway,
      `GET /${marker('path')} HTTP/1.1\r\nHost: x\r\n${good}\r\nbroken ${marker('name')}\r\n\r\n`,
    ),
  ).toBe(400);
  expect(await ask(gateway, `${marker('bytes')}\r\n\r\n`)).toBe(400);
  expect(await ask(gateway, get(`Authorization: Bearer ${marker('long')}${'x'.repeat(20_000)}`))).toBe(431);
  expect(await ask(gateway, withBody(`POST ${target()}`, marker('body'), good, 'Expect: the worst'))).toBe(
    417,
  );
  for (const response of [
    `HTTP/1.1 200 ${marker('reason')}\r\n${marker('line')}\r\n\r\n`,
    `${marker('answer')}\r\n\r\n`,
    '',
  ]) {
    upstream.script = async exchange => {
      await exchange.send(response);
      exchange.connection.end();
    };
    expect(await ask(gateway, get(good))).toBe(502);
  }
  await expectQuiet(gateway);
});

test.each<[string, (issuer: TestIssuer, text: string) => Partial<Record<'discovery' | 'keys', Script>>]>([
  [
    'names no address',
    (issuer, text) => ({ discovery: scripts.json(200, { issuer: issuer.url, token_endpoint: text }) }),
  ],
  ['is no JSON', (_, text) => ({ discovery: scripts.raw(`HTTP/1.1 200 OK\r\n\r\n${text}`) })],
  ['is no HTTP', (_, text) => ({ discovery: scripts.raw(`${text}\r\n\r\n`) })],
  ['holds no keys', (_, text) => ({ keys: scripts.json(200, [text]) })],
])('an issuer whose document %s is not quoted', async (_, spoil) => {
  const issuer = await startIssuer();
  const { discovery, keys } = issuer.provider;
  Object.assign(issuer.provider, spoil(issuer, marker('document')));
  // The end of the test looks through its log and its metrics.
  const tokens = { key_set: { cooldown: '20ms' } };
  const { gateway } = await startIdentityGateway({ issuer: issuer.url, tokens });
  await waitFor('the log complains', () => gateway.logLines.some(line => line.includes('"warn"')));
  await ask(gateway, redeemingOf());
  expectNoSecretIn('readiness', (await gateway.admin('/readyz')).text);
  Object.assign(issuer.provider, { discovery, keys });
  const isReady = async () => (await gateway.admin('/readyz')).status === 200;
  await gateway.time.advanceUntil('it is ready', isReady, 100);
});

test('the private key of the gateway and what it signs stay between it and the provider', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  for (const line of pem.split('\n').slice(1, -2)) secret(line);
  const path = join(await tempFolder(), 'key.pem');
  await writeFile(path, pem);
  const provider = {
    client_authentication: 'private_key_jwt',
    client_secret_file: undefined,
    private_key_file: path,
    timeout: '60s',
  };
  const { issuer, gateway } = await front({ provider });
  for (const script of [scripts.tokens(), echo(issuer, 401), scripts.reset]) {
    issuer.provider.token = script;
    await ask(gateway, redeemingOf());
  }
  const assertions = issuer.provider.tokenRequests.map(({ body }) =>
    new URLSearchParams(body).get('client_assertion'),
  );
  expect(assertions).toEqual(Array(3).fill(expect.stringMatching(/^eyJ.+\..+\..+$/)));
  for (const assertion of assertions) secret(assertion ?? '');
  await expectQuiet(gateway);
});
