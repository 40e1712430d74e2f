import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { GatewayError, RpcCode } from '../../src/core/index.ts';
import type { ProviderOptions, SignInOptions } from '../../src/identity/signin/index.ts';
import { providerFaults } from '../support/provider-faults.ts';
import {
  keycloak,
  type Script,
  type ScriptedProvider,
  scripts,
  startScriptedProvider,
  unsignedJwt,
} from '../support/scripted-provider.ts';
import { openSignInRoom } from '../support/sign-in-room.ts';
import { inTime } from '../support/test-clock.ts';
import { waitFor } from '../support/wait.ts';

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

async function scripted(
  token?: Script,
  options: Partial<ProviderOptions> = {},
  signIn: Partial<SignInOptions> = {},
) {
  const fake = await startScriptedProvider();
  if (token !== undefined) fake.token = token;
  const room = openSignInRoom(
    { issuer: fake.issuer, timeoutMs: 400, maxResponseBytes: 100_000, ...options },
    { redirectUri: REDIRECT, ...signIn },
  );
  cleanups.push(room.close, fake.close);
  await room.ready();
  return { fake, room };
}

function formOf(fake: ScriptedProvider): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(fake.tokenRequests[0]?.body));
}

/** Everything a client can see of an error. */
function toldToClient(error: GatewayError): string {
  return JSON.stringify([error.message, error.fields, error.details]);
}

describe('a provider that', () => {
  test.each(providerFaults)(
    '%s has been asked exactly once, and the client is told',
    async (_name, script, outcome, status, rpcCode) => {
      const { fake, room } = await scripted(script);
      const redeeming = room.redeem(REQUEST);
      await waitFor('the provider is asked', () => fake.tokenRequests.length === 1);
      const isSilent = outcome === 'timed_out';
      const response = await (isSilent ? inTime(room.time, redeeming) : redeeming);
      expect(response).toBeInstanceOf(GatewayError);
      expect(response).toMatchObject({ status, rpcCode });
      expect(room.redeemed).toMatchObject([{ outcome }]);
      // Had it been asked again, now or later, that would have come before the next one.
      room.time.advance(60_000);
      fake.token = scripts.tokens();
      await room.redeem(REQUEST);
      expect(fake.tokenRequests).toHaveLength(2);
      expect(toldToClient(response as GatewayError)).not.toMatch(/marker|sorry|HPE|127\.0\.0\.1/);
      expect(room.everythingSaid()).not.toContain('marker');
    },
  );

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

  test('is unreachable leaves the code unused, and the response says so', async () => {
    const { fake, room } = await scripted();
    await fake.close();
    const response = await room.redeem(REQUEST);
    expect(response).toMatchObject({ status: 503, rpcCode: RpcCode.unavailable });
    expect(room.redeemed).toMatchObject([{ outcome: 'unreachable' }]);
    expect(room.everythingSaid()).toContain('ECONNREFUSED');
  });

  test('dies later and comes back is used again without another discovery', async () => {
    const { fake, room } = await scripted();
    await fake.close();
    expect(await room.redeem(REQUEST)).toMatchObject({ status: 503 });
    expect(room.signIn.authorizeUrl()).not.toBeInstanceOf(GatewayError);
    const again = await startScriptedProvider({ port: fake.port });
    cleanups.push(again.close);
    expect(await room.redeem(REQUEST)).toHaveProperty('accessToken');
    expect(again.discoveries).toBe(0);
  });

  test('takes its time takes it for a quarter of the sign-ins from one address, and serves the others', async () => {
    const { fake, room } = await scripted(scripts.hang, {}, { maxInFlight: 8 });
    const running = [room.redeem(REQUEST), room.redeem(REQUEST)];
    expect(await room.redeem(REQUEST)).toMatchObject({ status: 503, fields: ['Retry-After', '1'] });
    expect(room.redeemed).toMatchObject([{ outcome: 'overloaded' }]);
    fake.token = scripts.tokens();
    expect(await room.redeem(REQUEST, '192.0.2.2')).toHaveProperty('accessToken');
    // The places are free again when the provider's time is over.
    await inTime(room.time, Promise.all(running));
    expect(await room.redeem(REQUEST)).toHaveProperty('accessToken');
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

  test('takes its time finishes what it began although no client waits', async () => {
    const { fake, room } = await scripted(scripts.hang, { timeoutMs: 3_000 });
    let responseNow: () => void = () => undefined;
    fake.token = (response, socket) => {
      responseNow = () => scripts.tokens({ 'not-before-policy': 7 })(response, socket);
    };
    void room.redeem(REQUEST);
    await expect.poll(() => fake.tokenRequests.length).toBe(1);
    responseNow();
    await expect.poll(() => room.redeemed.length).toBe(1);
    expect(room.redeemed).toMatchObject([{ outcome: 'success' }]);
    expect(room.marks).toEqual([['alice', 7]]);
  });

  test('is asked by too many at once is asked by no more', async () => {
    const { fake, room } = await scripted(scripts.hang, {}, { maxInFlight: 2 });
    const running = [room.redeem(REQUEST, '192.0.2.1'), room.redeem(REQUEST, '192.0.2.2')];
    const refused = await room.redeem(REQUEST, '192.0.2.3');
    expect(refused).toMatchObject({ status: 503, fields: ['Retry-After', '1'] });
    await waitFor('both are at the provider', () => fake.tokenRequests.length === 2);
    await inTime(room.time, Promise.all(running));
    expect(fake.tokenRequests).toHaveLength(2);
    fake.token = scripts.tokens();
    expect(await room.redeem(REQUEST)).toHaveProperty('accessToken');
  });
});

describe('what is sent', () => {
  test.each([
    'HTTP://App.example:80/cb?x=%7e',
    'http://a.example',
    'http://localhost:8080/a/../b#frag',
    'http://a.example/cb?code=zz&code=yy',
    'myapp://callback',
    'com.app:/x',
    'urn:ietf:wg:oauth:2.0:oob',
    ' \u0000\r\n\tü 🦦 + & = %',
  ])('the redirect uri %j reaches the provider byte for byte', async redirectUri => {
    const { fake, room } = await scripted();
    const code = `${redirectUri}/code`;
    expect(await room.redeem({ code, redirectUri })).toHaveProperty('accessToken');
    expect(formOf(fake)).toEqual({ grant_type: 'authorization_code', code, redirect_uri: redirectUri });
  });

  test('the code verifier is passed on, and the secret goes into the header alone', async () => {
    const { fake, room } = await scripted();
    await room.redeem(REQUEST);
    expect(formOf(fake)['code_verifier']).toBe(REQUEST.codeVerifier);
    const [request] = fake.tokenRequests;
    expect(request?.headers.authorization).toBe(`Basic ${btoa('gateway:marker-secret')}`);
    expect(request?.body).not.toContain('secret');
    expect(request?.headers['content-length']).toBe(String(request?.body.length));
  });

  test('no wrong body makes the provider be asked', async () => {
    const { fake, room } = await scripted();
    for (const body of [
      {},
      [],
      null,
      { code: 1, redirectUri: REDIRECT },
      { code: '\ud800', redirectUri: REDIRECT },
    ]) {
      expect(await room.redeem(body)).toMatchObject({ status: 400 });
    }
    expect(fake.tokenRequests).toHaveLength(0);
    expect(new Set(room.redeemed.map(({ outcome }) => outcome))).toEqual(new Set(['bad_body']));
  });
});

describe('a token response that a stricter reader would throw away, although the code is spent, is given to the client', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      'null members',
      { refresh_token: null, id_token: null, scope: null, expires_in: null },
      { scope: 'openid' },
    ],
    [
      'an ID token of another issuer, out of date',
      { id_token: unsignedJwt({ iss: 'x', aud: 'y', exp: 1, sid: 's' }) },
      { sessionState: 's' },
    ],
    ['an encrypted ID token', { id_token: 'a.b.c.d.e' }, { idToken: 'a.b.c.d.e' }],
    ['seconds in quotes', { expires_in: '300' }, { expiresIn: 300 }],
    ['no token_type', { token_type: undefined }, { tokenType: 'Bearer' }],
    ['token_type bearer', { token_type: 'bearer' }, { tokenType: 'Bearer' }],
  ])('with %s', async (_name, members, expected) => {
    const { room } = await scripted(scripts.tokens(members));
    expect(await room.redeem(REQUEST)).toMatchObject({ accessToken: expect.any(String), ...expected });
  });

  test('with another content type', async () => {
    const { room } = await scripted(response => {
      response
        .writeHead(200, { 'content-type': 'text/plain' })
        .end('{"access_token":"t","token_type":"Bearer"}');
    });
    expect(await room.redeem(REQUEST)).toHaveProperty('accessToken', 't');
  });
});
