import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import type { GatewayError } from '../../src/core/index.ts';
import {
  keycloak,
  type Script,
  scripts,
  startScriptedProvider,
  unsignedJwt,
} from '../support/scripted-provider.ts';
import { openSignInRoom } from '../support/sign-in-room.ts';

const REDIRECT = 'https://app.example/cb?marker-redirect';
const REQUEST = {
  code: 'marker-code-1',
  redirectUri: REDIRECT,
  codeVerifier: 'marker-verifier-'.padEnd(43, 'v'),
};

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function scripted(token?: Script) {
  const fake = await startScriptedProvider();
  if (token !== undefined) fake.token = token;
  const room = openSignInRoom({ issuer: fake.issuer }, { redirectUri: REDIRECT });
  cleanups.push(room.close, fake.close);
  await room.ready();
  return { fake, room };
}

/** Everything a client can see of an error. */
function toldToClient(error: GatewayError): string {
  return JSON.stringify([error.message, error.fields, error.details]);
}

describe('a provider that', () => {
  test('echoes the request and its secrets in its error finds them neither at the client nor in what is logged', async () => {
    const { fake, room } = await scripted();
    fake.token = response => {
      const form = new URLSearchParams(fake.tokenRequests[0]?.body);
      const everything = [
        ...form.values(),
        fake.tokenRequests[0]?.headers.authorization,
        'marker-secret',
        unsignedJwt({}),
      ];
      scripts.json(400, { error: everything.join(' '), error_description: `Look: ${everything.join(', ')}` })(
        response,
        response.socket ?? expect.fail(),
      );
    };
    const response = await room.redeem(REQUEST);
    expect(toldToClient(response as GatewayError)).not.toMatch(/marker|Look/);
    const said = room.everythingSaid();
    expect(said).toContain('Look:');
    expect(said).not.toMatch(/marker|app\.example|eyJ|bWFya2Vy/);
  });

  test('explains itself in plain words is quoted in the log and not to the client', async () => {
    const { room } = await scripted(keycloak.incorrectRedirectUri);
    const response = await room.redeem(REQUEST);
    expect(room.redeemed[0]?.error?.cause).toMatchObject({
      message: 'the token endpoint answered 400 invalid_grant (Incorrect redirect_uri)',
    });
    expect(toldToClient(response as GatewayError)).not.toContain('Incorrect');
  });

  test('puts a challenge beside its error is still understood by its error', async () => {
    const { room } = await scripted(
      scripts.json(400, { error: 'invalid_grant' }, { 'www-authenticate': 'Basic realm="x"' }),
    );
    expect(await room.redeem(REQUEST)).toMatchObject({ status: 400 });
  });

  test('is asked not to compress, and does not', async () => {
    const { fake, room } = await scripted();
    const compressed: Script = (response, socket) => {
      const asked = fake.tokenRequests.at(-1)?.headers['accept-encoding'];
      if (asked === 'identity') return scripts.tokens()(response, socket);
      const body = gzipSync(JSON.stringify({ access_token: unsignedJwt({}), token_type: 'Bearer' }));
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(body);
    };
    fake.token = compressed;
    expect(await room.redeem(REQUEST)).toHaveProperty('accessToken');
  });

  test('would keep connections alive gets every token request on a new connection', async () => {
    const { fake, room } = await scripted();
    for (let i = 0; i < 3; i += 1) expect(await room.redeem(REQUEST)).toHaveProperty('accessToken');
    fake.token = scripts.reset;
    expect(await room.redeem(REQUEST)).toMatchObject({ status: 503 });
    expect(fake.tokenRequests.map(({ connection }) => connection)).toEqual([1, 2, 3, 4]);
  });

  test('answers with another content type is read, since the code is spent', async () => {
    const { room } = await scripted(response => {
      response
        .writeHead(200, { 'content-type': 'text/plain' })
        .end('{"access_token":"t","token_type":"Bearer"}');
    });
    expect(await room.redeem(REQUEST)).toHaveProperty('accessToken', 't');
  });
});
