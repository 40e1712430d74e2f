import type { webcrypto } from 'node:crypto';
import type { JwtParts, Provider, ProviderContext, Session, TokenSource } from 'oidc-provider';
import { errorPage } from './pages.ts';

/** `aud` of the access tokens. */
const AUDIENCE = 'api';

export const REALM_PATH = '/realms/demo';
export const LOGIN_PATH = `${REALM_PATH}/login-actions/authenticate`;
/** The path where another person can sign in. */
export const RESTART_PATH = `${REALM_PATH}/login-actions/restart`;

const API = 'urn:weir:demo:api';
const ROOT = '/protocol/openid-connect';
const SCOPE = 'openid profile email offline_access';

/** A private key, named in the tokens that it signs. */
export interface SigningKey extends webcrypto.JsonWebKey {
  readonly kid: string;
}

interface RealmOptions {
  /** Client registrations in OpenID Connect's terms (`redirect_uris`, ...). */
  readonly clients: readonly Readonly<Record<string, unknown>>[];
  /** Private keys; the first one signs. */
  readonly keys: readonly SigningKey[];
  readonly cookieKey: string;
  /** From `memoryStore`. */
  readonly store: unknown;
  readonly codeSeconds: number;
  readonly accessTokenSeconds: number;
  readonly refreshTokenSeconds: number;
}

/**
 * Makes oidc-provider behave like a Keycloak realm: its paths and claims, no consent page, and refresh tokens without a
 * scope that asks for them.
 */
export function realmConfiguration(settings: RealmOptions): Readonly<Record<string, unknown>> {
  return {
    clients: settings.clients,
    jwks: { keys: settings.keys },
    cookies: { keys: [settings.cookieKey] },
    adapter: settings.store,
    clockTolerance: 0,
    routes: ROUTES,
    interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `${LOGIN_PATH}/${uid}` },
    claims: CLAIMS,
    ttl: lifetimes(settings),
    features: features(settings.accessTokenSeconds),
    pkce: { required: () => false },
    conformIdTokenClaims: false,
    issueRefreshToken: () => true,
    // Each refresh token works once, as RFC 9700, 4.14.2 advises: a second use ends the session.
    rotateRefreshToken: () => true,
    renderError,
    findAccount,
    loadExistingGrant,
    fetch: fetchFromLoopback,
    extraTokenClaims,
    formats: { customizers: { jwt: likeKeycloak } },
  };
}

const ROUTES = {
  authorization: `${ROOT}/auth`,
  token: `${ROOT}/token`,
  jwks: `${ROOT}/certs`,
  userinfo: `${ROOT}/userinfo`,
  end_session: `${ROOT}/logout`,
  introspection: `${ROOT}/token/introspect`,
  revocation: `${ROOT}/revoke`,
};

const CLAIMS = {
  openid: ['sub', 'typ', 'azp', 'sid'],
  profile: ['name', 'preferred_username'],
  email: ['email', 'email_verified'],
};

/** The lifetimes of what oidc-provider issues, in seconds. */
function lifetimes({ codeSeconds, accessTokenSeconds, refreshTokenSeconds }: RealmOptions): unknown {
  return {
    AuthorizationCode: codeSeconds,
    AccessToken: accessTokenSeconds,
    ClientCredentials: accessTokenSeconds,
    IdToken: accessTokenSeconds,
    RefreshToken: refreshTokenSeconds,
    Interaction: 1_800,
    Session: 36_000,
    Grant: 36_000,
  };
}

function features(accessTokenSeconds: number): unknown {
  return {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    // Sends logout tokens to clients whose registration has a `backchannel_logout_uri`.
    backchannelLogout: { enabled: true },
    introspection: { enabled: true },
    revocation: {
      enabled: true,
      allowedPolicy: (_ctx: unknown, client: { clientId: string }, token: TokenSource) =>
        token.clientId === client.clientId,
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => API,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: SCOPE,
        audience: AUDIENCE,
        accessTokenFormat: 'jwt',
        accessTokenTTL: accessTokenSeconds,
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  };
}

/** Sends logout tokens to clients on loopback, where all clients of the demo are: oidc-provider's own `fetch` refuses that. */
function fetchFromLoopback(
  url: string,
  { dispatcher: _, ...options }: RequestInit & { dispatcher?: unknown },
): Promise<Response> {
  return fetch(url, options);
}

function renderError(ctx: ProviderContext, out: { error: string; error_description?: string }): void {
  ctx.type = 'html';
  ctx.body = errorPage(out.error_description ?? out.error, RESTART_PATH);
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
 * Grants everything requested, so that no consent page appears. Reuses the session's grant: a new one would end the codes and
 * tokens of the last.
 */
async function loadExistingGrant(ctx: {
  oidc: { provider: Provider; client: { clientId: string }; session: Session };
}): Promise<unknown> {
  const { provider, client, session } = ctx.oidc;
  // Make logout tokens identify the session as access tokens do: oidc-provider would use a different id per client.
  session.sidFor(client.clientId, session.uid);
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

/** Makes tokens look like Keycloak's: a service account's has `client_id` and no `sid`, a user's has `sid` and no `client_id`. */
function likeKeycloak(_ctx: unknown, token: TokenSource, parts: JwtParts): void {
  parts.header = { ...parts.header, typ: 'JWT' };
  if (token.kind === 'ClientCredentials') return;
  delete parts.payload['client_id'];
  parts.payload['sid'] = token.sessionUid;
}

/** Adds the members of Keycloak's token response that are not standard. */
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

/** A user of the demo provider. */
interface Person {
  readonly username: string;
  readonly password: string;
  /** `sub` of the user's tokens; opaque, as in Keycloak. */
  readonly subject: string;
  readonly name: string;
  readonly email: string;
}

/** The demo's users. Their passwords are in its documentation and protect nothing. */
export const PEOPLE: readonly Person[] = [
  {
    username: 'alice',
    password: 'wonderland',
    subject: '5d1f0c9e-7a52-4c1c-9d52-6f1f6a1c0a11',
    name: 'Alice Liddell',
    email: 'alice@example.com',
  },
  {
    username: 'bob',
    password: 'builder',
    subject: 'b2f4a7d3-03c8-4e7f-8f0e-2c9b7d54be22',
    name: 'Bob Stone',
    email: 'bob@example.com',
  },
];

function personBySubject(subject: string): Person | undefined {
  return PEOPLE.find(person => person.subject === subject);
}

export function personByPassword(username: string, password: string): Person | undefined {
  return PEOPLE.find(person => person.username === username && person.password === password);
}
