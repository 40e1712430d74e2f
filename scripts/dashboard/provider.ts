import { once } from 'node:events';
import { createServer } from 'node:http';
import { type IssuerKey, issuerKey, keySetJson, signToken } from '../../test/support/token-issuer.ts';

/** Keys, tokens, sign-ins and whether tokens are active; switched off, it answers 503 to everything. */
export async function startProvider() {
  const state = { up: true };
  const key = issuerKey('ES256', 'first');
  const server = createServer((request, response) => {
    request.resume();
    const json = (body: string) =>
      response.writeHead(state.up ? 200 : 503, { 'Content-Type': 'application/json' }).end(body);
    if (request.url?.endsWith('openid-configuration')) json(JSON.stringify(discovery(url)));
    else if (request.url === '/token')
      json(
        JSON.stringify({
          access_token: sign('alice', false),
          token_type: 'Bearer',
          expires_in: 300,
          refresh_token: 'r',
          id_token: sign('alice', false),
        }),
      );
    else if (request.url === '/revoke') json('{}');
    else if (request.url === '/introspect') json(JSON.stringify({ active: Math.random() < 0.9 }));
    else json(keySetJson([key]));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  const sign = (user: string, expired: boolean): string => {
    const now = Math.floor(Date.now() / 1_000) - (expired ? 7_200 : 0);
    const bot = user.startsWith('bot') ? { client_id: user } : {};
    return signToken(key, {
      iss: url,
      aud: ['api'],
      sub: user,
      azp: 'app',
      typ: 'Bearer',
      iat: now,
      exp: now + 3_600,
      ...bot,
    });
  };
  return {
    url,
    state,
    token: (user: string, expired = false) => sign(user, expired),
    logout: (sid: string, audience: string) => logoutToken(key, url, sid, audience),
  };
}

/** As of OpenID Connect Back-Channel Logout 1.0, 2.4. */
function logoutToken(key: IssuerKey, iss: string, sid: string, aud: string): string {
  const iat = Math.floor(Date.now() / 1_000);
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  return signToken(key, { iss, aud, iat, exp: iat + 120, jti: sid, sid, events }, { typ: 'logout+jwt' });
}

function discovery(url: string) {
  return {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/keys`,
    revocation_endpoint: `${url}/revoke`,
    introspection_endpoint: `${url}/introspect`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  };
}
