import type { JsonWebKey } from 'node:crypto';
import type { JwtParts, Provider, ProviderContext, Session, TokenSource } from 'oidc-provider';
import { problemPage } from './pages.ts';
import { personBySubject } from './people.ts';

/** The API that access tokens are for: their `aud`. */
const AUDIENCE = 'api';

export const REALM_PATH = '/realms/demo';
/** Where the login form is. */
export const LOGIN_PATH = `${REALM_PATH}/login-actions/authenticate`;
/** Where a sign-in begins anew, for somebody else. */
export const RESTART_PATH = `${REALM_PATH}/login-actions/restart`;

const API = 'urn:weir:demo:api';
const ROOT = '/protocol/openid-connect';
const SCOPE = 'openid profile email offline_access';

export interface RealmOptions {
  /** A client's registration in the words of OpenID Connect (`redirect_uris`, ...). */
  readonly clients: readonly Readonly<Record<string, unknown>>[];
  /** Private keys; the first one signs. */
  readonly keys: readonly JsonWebKey[];
  readonly cookieKey: string;
  /** From `memoryStore`. */
  readonly store: unknown;
  /** Seconds. */
  readonly codeSeconds: number;
  readonly accessTokenSeconds: number;
  readonly refreshTokenSeconds: number;
}

/**
 * The configuration that makes oidc-provider answer like a Keycloak realm: its paths, its claims, no consent page, refresh
 * tokens without being asked.
 */
export function realmConfiguration(settings: RealmOptions): Readonly<Record<string, unknown>> {
  return {
    clients: settings.clients,
    jwks: { keys: settings.keys },
    cookies: { keys: [settings.cookieKey] },
    adapter: settings.store,
    clockTolerance: 0,
    routes: {
      authorization: `${ROOT}/auth`,
      token: `${ROOT}/token`,
      jwks: `${ROOT}/certs`,
      userinfo: `${ROOT}/userinfo`,
      end_session: `${ROOT}/logout`,
      introspection: `${ROOT}/token/introspect`,
      revocation: `${ROOT}/revoke`,
    },
    interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `${LOGIN_PATH}/${uid}` },
    claims: {
      openid: ['sub', 'typ', 'azp', 'sid'],
      profile: ['name', 'preferred_username'],
      email: ['email', 'email_verified'],
    },
    ttl: {
      AuthorizationCode: settings.codeSeconds,
      AccessToken: settings.accessTokenSeconds,
      ClientCredentials: settings.accessTokenSeconds,
      IdToken: settings.accessTokenSeconds,
      RefreshToken: settings.refreshTokenSeconds,
      Interaction: 1_800,
      Session: 36_000,
      Grant: 36_000,
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => API,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: SCOPE,
          audience: AUDIENCE,
          accessTokenFormat: 'jwt',
          accessTokenTTL: settings.accessTokenSeconds,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    pkce: { required: () => false },
    conformIdTokenClaims: false,
    issueRefreshToken: () => true,
    renderError,
    findAccount,
    loadExistingGrant,
    extraTokenClaims,
    formats: { customizers: { jwt: likeKeycloak } },
  };
}

function renderError(ctx: ProviderContext, out: { error: string; error_description?: string }): void {
  ctx.type = 'html';
  ctx.body = problemPage(out.error_description ?? out.error, RESTART_PATH);
}

function findAccount(_ctx: unknown, subject: string, token?: TokenSource): unknown {
  const person = personBySubject(subject);
  if (person === undefined) return undefined;
  return {
    accountId: subject,
    claims: () => ({
      sub: subject,
      typ: 'ID',
      azp: token?.clientId,
      sid: token?.sessionUid,
      name: person.name,
      preferred_username: person.username,
      email: person.email,
      email_verified: true,
    }),
  };
}

/**
 * Grants what is asked for, so that nobody sees a consent page. The grant that a session has is used again: with another one
 * the codes and tokens of the last would end.
 */
async function loadExistingGrant(ctx: {
  oidc: { provider: Provider; client: { clientId: string }; session: Session };
}): Promise<unknown> {
  const { provider, client, session } = ctx.oidc;
  const granted = session.grantIdFor(client.clientId);
  const known = granted === undefined ? undefined : await provider.Grant.find(granted);
  if (known !== undefined) return known;
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope(SCOPE);
  grant.addResourceScope(API, SCOPE);
  await grant.save();
  return grant;
}

function extraTokenClaims(_ctx: unknown, token: TokenSource): Readonly<Record<string, unknown>> {
  const common = { typ: 'Bearer', azp: token.clientId };
  return token.kind === 'ClientCredentials'
    ? { ...common, preferred_username: `service-account-${token.clientId.toLowerCase()}` }
    : { ...common, preferred_username: personBySubject(token.accountId ?? '')?.username };
}

/** In Keycloak a service account's token has `client_id` and no `sid`; a user's has it the other way round. */
function likeKeycloak(_ctx: unknown, token: TokenSource, parts: JwtParts): void {
  parts.header = { ...parts.header, typ: 'JWT' };
  if (token.kind === 'ClientCredentials') return;
  delete parts.payload['client_id'];
  parts.payload['sid'] = token.sessionUid;
}

/** The members of Keycloak's token answer that no standard knows. */
export function addKeycloakMembers(
  ctx: ProviderContext,
  refreshTokenSeconds: number,
  notBefore: number,
): void {
  if (ctx.oidc?.route !== 'token' || ctx.status !== 200 || typeof ctx.body !== 'object') return;
  const body: Record<string, unknown> = { ...ctx.body };
  const refreshToken = body['refresh_token'];
  body['refresh_expires_in'] = refreshToken === undefined ? 0 : refreshTokenSeconds;
  body['not-before-policy'] = notBefore;
  const session = sessionOf(body['access_token']);
  if (session !== undefined) body['session_state'] = session;
  ctx.body = body;
}

function sessionOf(accessToken: unknown): unknown {
  const payload = String(accessToken).split('.')[1] ?? '';
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  return typeof claims === 'object' && claims !== null && 'sid' in claims ? claims.sid : undefined;
}
