import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import OidcProvider from 'oidc-provider';
import { memoryStore } from '../../src/cli/demo/provider/demo-provider.ts';
import { loginPage } from '../../src/cli/demo/provider/pages.ts';
import { systemClock } from '../../src/core/index.ts';

/** Settings of oidc-provider in addition to those of `startPlainProvider`, or in place of them. */
export interface PlainOptions {
  /** Members of its client. */
  readonly client?: Readonly<Record<string, unknown>>;
  readonly features?: Readonly<Record<string, unknown>>;
  /** The resource that access tokens are for, whose only scope is `orders`. */
  readonly resource?: string;
}

export interface PlainProvider {
  readonly issuer: string;
  readonly callbackUri: string;
  close(): Promise<void>;
}

/**
 * oidc-provider with nothing of Keycloak: opaque access tokens, other paths, ES256 alone, no `refresh_expires_in`, no
 * `not-before-policy`, no `session_state`, no refresh token that was not asked for. Any name signs in. Its client is
 * `gateway` with the secret `plain-secret`.
 */
export async function startPlainProvider({
  client = {},
  features = {},
  resource,
}: PlainOptions = {}): Promise<PlainProvider> {
  let serve = (_request: IncomingMessage, _response: ServerResponse): void => undefined;
  const server = createServer((request, response) => serve(request, response));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const callbackUri = 'https://app.example/callback';
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const provider = new OidcProvider(issuer, {
    adapter: memoryStore(systemClock),
    clients: [
      {
        client_id: 'gateway',
        client_secret: 'plain-secret',
        token_endpoint_auth_method: 'client_secret_post',
        id_token_signed_response_alg: 'ES256',
        redirect_uris: [callbackUri],
        ...client,
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'ES256' }] },
    cookies: { keys: ['plain'] },
    features: { devInteractions: { enabled: false }, ...features },
    issueRefreshToken: (_ctx: unknown, { grantTypes }: { grantTypes: readonly string[] }) =>
      grantTypes.includes('refresh_token'),
    pkce: { required: () => false },
    interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/login/${uid}` },
    findAccount: (_ctx: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub }) }),
    loadExistingGrant: async (ctx: {
      oidc: { client: { clientId: string }; session: { accountId: string } };
    }) => {
      const grant = new provider.Grant({
        clientId: ctx.oidc.client.clientId,
        accountId: ctx.oidc.session.accountId,
      });
      grant.addOIDCScope('openid');
      if (resource !== undefined) grant.addResourceScope(resource, 'orders');
      await grant.save();
      return grant;
    },
    ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 60, Interaction: 60, Session: 60, Grant: 60 },
  });
  const library = provider.callback();
  serve = (request, response) => {
    if (request.url?.startsWith('/login/')) void login(provider, request, response);
    else void library(request, response);
  };
  return {
    issuer,
    callbackUri,
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function login(
  provider: OidcProvider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { uid } = await provider.interactionDetails(request, response);
  if (request.method !== 'POST') {
    response.writeHead(200, { 'content-type': 'text/html' }).end(loginPage(`/login/${uid}`, false));
    return;
  }
  const accountId = new URLSearchParams(await text(request)).get('username') ?? '';
  await provider.interactionFinished(
    request,
    response,
    { login: { accountId } },
    { mergeWithLastSubmission: false },
  );
}
