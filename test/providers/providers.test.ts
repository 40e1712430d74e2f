import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { makeCertificates } from '../support/certificates.ts';
import { startGateway } from '../support/gateway.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { head, withBody } from '../support/requests.ts';
import { expectSecretsKept, secret } from '../support/secrets.ts';
import { tempText } from '../support/temp.ts';
import { startUpstream } from '../support/wire/index.ts';
import { imitate } from './imitation-server.ts';
import { IMITATIONS, type Imitation, ROWS } from './imitations/index.ts';

const REFRESH = '/v1/users/refresh';
const identity = makeCertificates().client;

/** A gateway with the very configuration of the table, which finds the files that it names, and its provider through a proxy. */
async function start(imitation: Imitation) {
  const provider = await imitate(imitation);
  const { identity_provider: written, access_tokens } = parse(imitation.config);
  const texts = {
    client_secret_file: secret('imitated-client-secret'),
    private_key_file: identity.key,
  };
  const files = Object.fromEntries(
    await Promise.all(
      Object.entries(texts)
        .filter(([name]) => written[name] !== undefined)
        .map(async ([name, text]) => [name, await tempText(name, text)]),
    ),
  );
  const { client_assertion: assertion } = written;
  const certificate_file = await tempText('client.crt', identity.certificate);
  const signsIn = written.redirect_uri !== undefined;
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: {
      identity_provider: {
        ...{ ...written, ...files },
        ...(assertion?.certificate_file && { client_assertion: { ...assertion, certificate_file } }),
        ...{ proxy: provider.proxy, tls: { ca_file: await tempText('ca.pem', provider.ca) } },
      },
      access_tokens,
      ...(signsIn && { sign_in: { refresh: REFRESH } }),
      routes: [{ path: '/**', upstream: 'api' }],
      limits: await tempText('limits.yaml', 'global: off\n'),
      log: { level: 'trace', access: true },
    },
  });
  await gateway.ready();
  const ask = async (token: string) =>
    (await gateway.ask(head('GET /a', `Authorization: Bearer ${token}`))).status;
  return { provider, gateway, signsIn, ask };
}

test('every row has a configuration of at most 15 lines, and its sources', () => {
  for (const { config, sources } of ROWS) {
    expect(config.split('\n').length).toBeLessThanOrEqual(15);
    expect(sources.length).toBeGreaterThan(0);
  }
});

async function expectJudged(imitation: Imitation): Promise<void> {
  const { provider, gateway, ask } = await start(imitation);
  for (const { what, claims, header } of imitation.accepted)
    expect([what, await ask(provider.tokenOf(claims, header))]).toEqual([what, 200]);
  for (const { what, claims, header, reason } of imitation.refused) {
    expect([what, await ask(provider.tokenOf(claims, header))]).toEqual([what, 401]);
    expect([what, accessLines(gateway).at(-1)?.['tokenRefused']]).toEqual([what, reason]);
  }
  await expectSecretsKept(gateway);
}

describe.each(IMITATIONS.map(imitation => [imitation.name, imitation] as const))('%s', (_name, imitation) => {
  test('lets its access tokens in, and others not', () => expectJudged(imitation));

  test('signs users in with tokens that pass, and its errors are told apart', async () => {
    const { provider, gateway, signsIn, ask } = await start(imitation);
    if (!signsIn) {
      expect((await gateway.ask(head('GET /v1/anonymous/authorize-url'))).status).toBe(404);
      return;
    }
    const [first] = imitation.accepted;
    const access_token = provider.tokenOf(first?.claims ?? {}, first?.header ?? {});
    const refresh_token = secret('imitated-refresh-token');
    provider.token = {
      status: 200,
      body: { access_token, refresh_token, token_type: 'Bearer', expires_in: 300 },
    };
    const { redirect_uri: redirectUri } = parse(imitation.config).identity_provider;
    const code = JSON.stringify({ code: secret('imitated-code'), redirectUri });
    const redeemed = await gateway.ask(withBody('POST /v1/anonymous/auth', code));
    expect(redeemed.status).toBe(200);
    const { accessToken } = JSON.parse(redeemed.body.toString());
    expect(await ask(accessToken)).toBe(200);
    expect(gateway.logLines.filter(line => line.includes('handed out'))).toEqual([]);

    const refreshToken = JSON.stringify({ refreshToken: refresh_token });
    for (const { status, body, refresh } of imitation.errors ?? []) {
      provider.token = { status, body };
      const answer = await gateway.ask(withBody(`POST ${REFRESH}`, refreshToken));
      expect([body, answer.status]).toEqual([body, refresh]);
    }
    await expectSecretsKept(gateway);
  });
});
