import { readFile } from 'node:fs/promises';
import { expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { KeycloakAdmin, type Representation } from '../../src/cli/demo/keycloak-realm.ts';
import { examplesIn } from '../support/doc-examples.ts';
import { documentNamed } from '../support/documents.ts';
import { startGateway } from '../support/gateway.ts';
import { secret } from '../support/secrets.ts';
import { codeFor, redeem } from '../support/sign-in-client.ts';
import { tempText } from '../support/temp.ts';
import { startUpstream, values } from '../support/wire/index.ts';
import { TestRealm } from './realm.ts';
import { call, tokensIn } from './users.ts';

/** Follows docs/keycloak.md: imports the file as it is, reads the secret that Keycloak made, and adds a user. */
async function importRealm() {
  const admin = new KeycloakAdmin(inject('keycloakOrigin'));
  const file: Representation = JSON.parse(await readFile('config/keycloak/realm.json', 'utf8'));
  await admin.createRealm(file);
  const realm = new TestRealm(String(file['realm']), [], admin);
  await realm.addUser('dora', 'explorer-1');
  return {
    realm,
    clientSecret: await realm.secretOf('gateway'),
    botSecret: await realm.secretOf('reporting'),
  };
}

test('the realm file, imported as it is, and the gateway.yaml of docs/keycloak.md make a sign-in', async () => {
  const { realm, clientSecret, botSecret } = await importRealm();
  expect(clientSecret).toMatch(/^\S{32,}$/);
  const { name, text } = documentNamed('docs/keycloak.md');
  const shown = parse(examplesIn(name, text)[0]?.text ?? expect.fail('no example'));
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: {
      ...shown,
      listen: { http: '127.0.0.1:0', admin: '127.0.0.1:0' },
      identity_provider: {
        ...shown.identity_provider,
        issuer: realm.issuer,
        client_secret: undefined,
        client_secret_file: await tempText('client-secret', secret(clientSecret)),
      },
      upstreams: { api: { url: `http://127.0.0.1:${upstream.port}` } },
    },
  });
  await gateway.ready();
  const redirectUri = shown.identity_provider.redirect_uri;
  const code = await codeFor(gateway, redirectUri, 'dora', 'explorer-1');
  const { accessToken, refreshToken } = tokensIn(await redeem(gateway, code, redirectUri));
  expect((await call(gateway, accessToken, '/v1/things')).status).toBe(200);
  expect(values(upstream.onlyRequest.fields, 'x-auth-username')).toEqual(['dora']);

  // A refresh token works once.
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
  const client = { id: 'gateway', secret: clientSecret };
  secret(String((await realm.tokens(form, client))['refresh_token']));
  await expect(realm.tokens(form, client)).rejects.toThrow('invalid_grant');

  upstream.forget();
  const tokens = await realm.clientCredentials('reporting', botSecret);
  expect((await call(gateway, secret(String(tokens['access_token'])), '/v1/things')).status).toBe(200);
  expect(values(upstream.onlyRequest.fields, 'x-auth-client')).toEqual(['reporting']);
});
