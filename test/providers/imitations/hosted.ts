import { type Imitation, published } from './imitation.ts';

// Providers that run as a service.

const RED = '11111111-0000-4000-8000-000000000001';
const BLUE = '22222222-0000-4000-8000-000000000002';
const MICROSOFT = 'https://login.microsoftonline.com';
const API = '33333333-0000-4000-8000-000000000003';
const ENTRA_PAGES = [
  'https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens',
  'https://learn.microsoft.com/en-us/entra/identity-platform/access-token-claims-reference',
  'https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes',
];
/** `typ`, `alg` and `kid`, with the certificate as `x5t`. */
const ENTRA_HEADER = { typ: 'JWT', x5t: 'c2hhMS1vZi1jZXJ0aWZpY2F0ZQ', kid: 'entra-key' };

function entraClaims(tenant: string) {
  return {
    ...{ iss: `${MICROSOFT}/${tenant}/v2.0`, tid: tenant, aud: API, ver: '2.0', azp: 'app-1', azpacr: '1' },
    ...{ sub: 'pairwise-subject', oid: 'object-id', scp: 'orders.read', uti: 'u', rh: 'r' },
  };
}

function entraDocument(tenant: string, issuer: string) {
  return {
    url: `${MICROSOFT}/${tenant}/v2.0/.well-known/openid-configuration`,
    document: {
      issuer,
      authorization_endpoint: `${MICROSOFT}/${tenant}/oauth2/v2.0/authorize`,
      token_endpoint: `${MICROSOFT}/${tenant}/oauth2/v2.0/token`,
      jwks_uri: `${MICROSOFT}/${tenant}/discovery/v2.0/keys`,
      subject_types_supported: ['pairwise'],
    },
  };
}

/** Each key of the version 2 set names its issuer. */
const entraKey = (issuer: string) => ({
  ...{ use: 'sig', alg: undefined, kid: 'entra-key', x5t: ENTRA_HEADER.x5t, x5c: ['MII'], issuer },
});
/** RFC 6749's words with AADSTS numbers. */
const ENTRA_ERRORS = [
  {
    status: 400,
    body: { error: 'invalid_grant', error_description: 'AADSTS70008: expired', error_codes: [70008] },
    refresh: 401,
  },
  {
    status: 400,
    body: { error: 'interaction_required', error_description: 'AADSTS50076: MFA', error_codes: [50076] },
    refresh: 401,
  },
  {
    status: 401,
    body: { error: 'invalid_client', error_description: 'AADSTS7000215: secret', error_codes: [7000215] },
    refresh: 500,
  },
];
const entraIdToken = (tenant: string) => ({
  what: 'an ID token of the gateway',
  header: ENTRA_HEADER,
  claims: { ...entraClaims(tenant), aud: 'gateway-app', azp: undefined, scp: undefined, nonce: 'n' },
  reason: 'audience',
});
const TWO_APPS =
  'two app registrations: one for the API, which exposes a scope and has `requestedAccessTokenVersion` 2 in its manifest, and one for the gateway';

export const ENTRA_ONE: Imitation = {
  name: 'Entra ID, one tenant',
  config: `identity_provider:
  issuer: ${MICROSOFT}/${RED}/v2.0
  client_id: gateway-app
  client_authentication: client_secret_post
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid offline_access api://orders/orders.read
access_tokens:
  audience: ${API}    # the client ID of the API
  principal: [azp, sub]`,
  told: TWO_APPS,
  sources: ENTRA_PAGES,
  discovery: entraDocument(RED, `${MICROSOFT}/${RED}/v2.0`),
  keySetUrl: `${MICROSOFT}/${RED}/discovery/v2.0/keys`,
  key: entraKey(`${MICROSOFT}/${RED}/v2.0`),
  tokenUrl: `${MICROSOFT}/${RED}/oauth2/v2.0/token`,
  accepted: [{ what: "a user's token", header: ENTRA_HEADER, claims: entraClaims(RED) }],
  refused: [
    entraIdToken(RED),
    { what: 'a token of another tenant', header: ENTRA_HEADER, claims: entraClaims(BLUE), reason: 'issuer' },
  ],
  errors: ENTRA_ERRORS,
};

export const ENTRA_KEY: Imitation = {
  ...ENTRA_ONE,
  name: 'Entra ID, with a certificate',
  config: `identity_provider:
  issuer: ${MICROSOFT}/${RED}/v2.0
  client_id: gateway-app
  client_authentication: private_key_jwt
  private_key_file: /run/secrets/oidc/client.key
  client_assertion: { audience: token_endpoint, certificate_file: /run/secrets/oidc/client.crt }
  redirect_uri: https://app.example.com/callback
  scope: openid offline_access api://orders/orders.read
access_tokens:
  audience: ${API}
  principal: [azp, sub]`,
  told: `${TWO_APPS}, with the certificate under Certificates & secrets`,
  sources: ['https://learn.microsoft.com/en-us/entra/identity-platform/certificate-credentials'],
  assertionAudience: `${MICROSOFT}/${RED}/oauth2/v2.0/token`,
};

const TENANTS_TOLD = `${TWO_APPS}, both for accounts in any organizational directory`;

export const ENTRA_LISTED: Imitation = {
  ...ENTRA_ONE,
  name: 'Entra ID, listed tenants',
  config: `identity_provider:
  issuer: "${MICROSOFT}/{tid}/v2.0"
  issuer_values: [${RED}]
  discovery_url: ${MICROSOFT}/organizations/v2.0/.well-known/openid-configuration
  client_id: gateway-app
  client_authentication: client_secret_post
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid offline_access api://orders/orders.read
access_tokens:
  audience: ${API}
  principal: [azp, sub]`,
  told: TENANTS_TOLD,
  discovery: entraDocument('organizations', `${MICROSOFT}/{tenantid}/v2.0`),
  keySetUrl: `${MICROSOFT}/organizations/discovery/v2.0/keys`,
  key: entraKey(`${MICROSOFT}/{tenantid}/v2.0`),
  tokenUrl: `${MICROSOFT}/organizations/oauth2/v2.0/token`,
};

export const ENTRA_ANY: Imitation = {
  ...ENTRA_LISTED,
  name: 'Entra ID, any tenant',
  config: ENTRA_LISTED.config.replace(`[${RED}]`, 'any'),
  accepted: [RED, BLUE].map(tenant => ({
    ...{ what: `a token of the tenant ${tenant}`, header: ENTRA_HEADER, claims: entraClaims(tenant) },
  })),
  refused: [
    entraIdToken(RED),
    {
      what: 'a token whose claim contradicts its issuer',
      header: ENTRA_HEADER,
      claims: { ...entraClaims(RED), tid: BLUE },
      reason: 'issuer',
    },
  ],
};

export const ENTRA_V1: Imitation = {
  ...ENTRA_ONE,
  name: 'Entra ID, version 1 tokens',
  config: `identity_provider:
  issuer: https://sts.windows.net/${RED}/
  discovery_url: ${MICROSOFT}/${RED}/.well-known/openid-configuration
access_tokens:
  audience: api://orders
  principal: [appid, sub]`,
  told: 'nothing: APIs without `requestedAccessTokenVersion` get version 1 tokens. Sign in elsewhere, or ask for version 2',
  discovery: {
    url: `${MICROSOFT}/${RED}/.well-known/openid-configuration`,
    document: {
      issuer: `https://sts.windows.net/${RED}/`,
      token_endpoint: `${MICROSOFT}/${RED}/oauth2/token`,
      jwks_uri: `${MICROSOFT}/common/discovery/keys`,
    },
  },
  keySetUrl: `${MICROSOFT}/common/discovery/keys`,
  key: { use: 'sig', alg: undefined, kid: 'entra-key', x5t: ENTRA_HEADER.x5t, x5c: ['MII'] },
  accepted: [
    {
      what: "a user's token",
      header: ENTRA_HEADER,
      claims: {
        ...{ iss: `https://sts.windows.net/${RED}/`, aud: 'api://orders', appid: 'app-1', appidacr: '1' },
        ...{ sub: 's', oid: 'o', tid: RED, scp: 'orders.read', ver: '1.0' },
      },
    },
  ],
  refused: [{ what: 'a version 2 token', header: ENTRA_HEADER, claims: entraClaims(RED), reason: 'issuer' }],
};

const AUTH0 = 'https://tenant.eu.auth0.com';
const AUTH0_CLAIMS = {
  ...{
    iss: `${AUTH0}/`,
    sub: 'auth0|1',
    aud: ['https://api.example.com', `${AUTH0}/userinfo`],
    azp: 'gateway',
  },
  scope: 'openid profile offline_access',
};
const AUTH0_HEADER = { typ: 'JWT', kid: 'auth0-key' };

export const AUTH0_ROW: Imitation = {
  name: 'Auth0',
  config: `identity_provider:
  issuer: ${AUTH0}/
  client_id: gateway
  client_authentication: client_secret_post
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid profile offline_access
  authorization_parameters: { fixed: { audience: "https://api.example.com" } }
access_tokens:
  audience: https://api.example.com
  principal: [azp, sub]
  bots: { claim: gty, value: client-credentials, principal: [azp] }`,
  told: 'an API with the identifier https://api.example.com and Allow Offline Access; a Regular Web Application for the gateway',
  sources: [
    'https://auth0.com/docs/secure/tokens/access-tokens/access-token-profiles',
    'https://auth0.com/docs/secure/tokens/refresh-tokens/use-refresh-tokens',
  ],
  discovery: {
    url: `${AUTH0}/.well-known/openid-configuration`,
    document: {
      issuer: `${AUTH0}/`,
      authorization_endpoint: `${AUTH0}/authorize`,
      token_endpoint: `${AUTH0}/oauth/token`,
      jwks_uri: `${AUTH0}/.well-known/jwks.json`,
      revocation_endpoint: `${AUTH0}/oauth/revoke`,
    },
  },
  keySetUrl: `${AUTH0}/.well-known/jwks.json`,
  key: { kid: 'auth0-key', x5t: 'auth0-thumbprint', x5c: ['MII'] },
  tokenUrl: `${AUTH0}/oauth/token`,
  accepted: [
    { what: "a user's token", header: AUTH0_HEADER, claims: AUTH0_CLAIMS },
    {
      what: 'a token of a machine',
      header: AUTH0_HEADER,
      claims: {
        ...AUTH0_CLAIMS,
        aud: 'https://api.example.com',
        sub: 'machine@clients',
        gty: 'client-credentials',
      },
    },
  ],
  refused: [
    {
      what: 'an ID token',
      header: AUTH0_HEADER,
      claims: { ...AUTH0_CLAIMS, aud: 'gateway', azp: undefined, scope: undefined, sid: 's', nonce: 'n' },
      reason: 'audience',
    },
  ],
  errors: [
    // Refresh tokens are refused by 403, and so are users whom an Action turns away.
    {
      status: 403,
      body: { error: 'invalid_grant', error_description: 'Unknown or invalid refresh token.' },
      refresh: 401,
    },
    { status: 403, body: { error: 'access_denied', error_description: 'not today' }, refresh: 401 },
    { status: 401, body: { error: 'access_denied', error_description: 'Unauthorized' }, refresh: 401 },
  ],
};

const OKTA = 'https://org.okta.com/oauth2/default';
const OKTA_CLAIMS = {
  ...{ ver: 1, iss: OKTA, aud: 'api://default', cid: 'gateway', uid: '00u1', sub: 'alice@example.com' },
  ...{ scp: ['openid', 'offline_access'], auth_time: 1, jti: 'AT.1' },
};

export const OKTA_SECRET: Imitation = {
  name: 'Okta, with a secret',
  config: `identity_provider:
  issuer: ${OKTA}
  client_id: gateway
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid offline_access
access_tokens:
  audience: api://default
  principal: [cid, uid]`,
  told: 'an OIDC Web Application with the grant Refresh Token; the access policy of the authorization server `default` allows it',
  sources: [
    'https://developer.okta.com/docs/reference/api/oidc/',
    'https://support.okta.com/help/s/article/the-audience-claim-for-client-assertion-must-be-the-endpoint-invoked-for-the-request',
  ],
  ...published(OKTA, {
    authorization_endpoint: `${OKTA}/v1/authorize`,
    token_endpoint: `${OKTA}/v1/token`,
    jwks_uri: `${OKTA}/v1/keys`,
    introspection_endpoint: `${OKTA}/v1/introspect`,
    revocation_endpoint: `${OKTA}/v1/revoke`,
  }),
  key: { kid: 'okta-key' },
  // The header has no `typ`.
  accepted: [{ what: "a user's token", header: { kid: 'okta-key' }, claims: OKTA_CLAIMS }],
  refused: [
    {
      what: 'an ID token',
      header: { kid: 'okta-key' },
      claims: { ...OKTA_CLAIMS, aud: 'gateway', at_hash: 'x', cid: undefined },
      reason: 'audience',
    },
  ],
  errors: [
    {
      status: 400,
      body: { error: 'invalid_grant', error_description: 'The refresh token is invalid or expired.' },
      refresh: 401,
    },
    {
      status: 401,
      body: { error: 'invalid_client', error_description: 'The client secret supplied is invalid.' },
      refresh: 500,
    },
  ],
};

export const OKTA_KEY: Imitation = {
  ...OKTA_SECRET,
  name: 'Okta, with a key',
  config: `identity_provider:
  issuer: ${OKTA}
  client_id: gateway
  client_authentication: private_key_jwt
  private_key_file: /run/secrets/oidc/client.key
  private_key_id: gateway-2026
  client_assertion: { audience: token_endpoint }
  redirect_uri: https://app.example.com/callback
  scope: openid offline_access
access_tokens:
  audience: api://default
  principal: [cid, uid]`,
  told: 'an OIDC Web Application whose client authentication is Public key / Private key, with the public key under the id `gateway-2026`',
  assertionAudience: `${OKTA}/v1/token`,
};

const POOL = 'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example';
const COGNITO_LOGIN = 'https://example.auth.eu-west-1.amazoncognito.com';
const COGNITO_CLAIMS = {
  ...{
    sub: 'u-1',
    iss: POOL,
    version: 2,
    client_id: '1example23456789',
    token_use: 'access',
    scope: 'openid',
  },
  ...{
    auth_time: 1,
    jti: 'j',
    username: 'alice',
    'cognito:groups': ['clerk'],
    origin_jti: 'o',
    event_id: 'e',
  },
};

export const COGNITO: Imitation = {
  name: 'Amazon Cognito',
  config: `identity_provider:
  issuer: ${POOL}
  client_id: 1example23456789
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
access_tokens:
  audience: 1example23456789    # tokens have no aud: the app clients whose tokens are accepted
  audience_claim: client_id
  principal: [client_id, sub]
  roles: ["cognito:groups"]`,
  told: 'an app client with a secret, the authorization code grant and the scope `openid`',
  sources: [
    'https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-the-access-token.html',
    'https://docs.aws.amazon.com/cognito/latest/developerguide/token-endpoint.html',
  ],
  ...published(POOL, {
    authorization_endpoint: `${COGNITO_LOGIN}/oauth2/authorize`,
    token_endpoint: `${COGNITO_LOGIN}/oauth2/token`,
    jwks_uri: `${POOL}/.well-known/jwks.json`,
    revocation_endpoint: `${COGNITO_LOGIN}/oauth2/revoke`,
  }),
  key: { kid: 'cognito-key' },
  accepted: [{ what: "a user's token", header: { kid: 'cognito-key' }, claims: COGNITO_CLAIMS }],
  refused: [
    {
      what: 'an ID token',
      header: { kid: 'cognito-key' },
      claims: {
        ...COGNITO_CLAIMS,
        client_id: undefined,
        token_use: 'id',
        aud: '1example23456789',
        at_hash: 'x',
      },
      reason: 'audience',
    },
    {
      what: 'a token of another app client',
      header: { kid: 'cognito-key' },
      claims: { ...COGNITO_CLAIMS, client_id: '9other' },
      reason: 'audience',
    },
  ],
  errors: [{ status: 400, body: { error: 'invalid_grant' }, refresh: 401 }],
};

const GOOGLE = 'https://accounts.google.com';
const GOOGLE_CLAIMS = {
  ...{ iss: GOOGLE, aud: 'https://api.example.com', azp: '1092', sub: '1092', email_verified: true },
  email: 'reports@project.iam.gserviceaccount.com',
};

export const GOOGLE_ACCOUNTS: Imitation = {
  name: 'Google service accounts',
  config: `identity_provider:
  issuer: ${GOOGLE}
access_tokens:
  audience: https://api.example.com    # what the service accounts ask for
  principal: [sub]
  bots: { claim: email, principal: [sub] }`,
  told: 'nothing: a service account asks its metadata server, or `generateIdToken`, for an ID token with this audience',
  sources: [
    'https://cloud.google.com/docs/authentication/get-id-token',
    'https://cloud.google.com/docs/authentication/token-types#id',
  ],
  ...published(GOOGLE, {
    authorization_endpoint: `${GOOGLE}/o/oauth2/v2/auth`,
    token_endpoint: 'https://oauth2.googleapis.com/token',
    jwks_uri: 'https://www.googleapis.com/oauth2/v3/certs',
  }),
  key: { kid: 'google-key' },
  accepted: [
    { what: "a service account's token", header: { kid: 'google-key', typ: 'JWT' }, claims: GOOGLE_CLAIMS },
  ],
  refused: [
    {
      what: "a user's ID token of some application",
      header: { kid: 'google-key', typ: 'JWT' },
      claims: { ...GOOGLE_CLAIMS, aud: 'app.apps.googleusercontent.com', at_hash: 'x' },
      reason: 'audience',
    },
  ],
};

/** What the translator of docs/opaque-tokens.md makes of an answer of `tokeninfo`. */
const GOOGLE_ANSWER = {
  ...{ aud: 'gateway.apps.googleusercontent.com', client_id: 'gateway.apps.googleusercontent.com' },
  ...{ sub: '1093', token_type: 'Bearer', scope: 'openid https://www.googleapis.com/auth/userinfo.email' },
};

export const GOOGLE_USERS: Imitation = {
  ...GOOGLE_ACCOUNTS,
  name: 'Google users',
  config: `identity_provider:
  issuer: ${GOOGLE}
  endpoints: { introspection: "http://127.0.0.1:8090/" }
  client_id: gateway.apps.googleusercontent.com
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid email
  authorization_parameters: { fixed: { access_type: offline, prompt: consent } }
access_tokens:
  audience: gateway.apps.googleusercontent.com    # the client: tokens name no API
  principal: [client_id, sub]
  opaque_tokens: { cache: 30s }`,
  told: 'an OAuth client of the type Web application. It has no endpoint of RFC 7662: a small program of yours [translates its tokeninfo](opaque-tokens.md#tokens-of-googles-users)',
  sources: [
    'https://developers.google.com/identity/protocols/oauth2/web-server',
    'https://cloud.google.com/docs/authentication/token-types#access',
  ],
  introspectionUrl: 'http://127.0.0.1:8090/',
  accepted: [{ what: "a user's token", header: {}, claims: GOOGLE_ANSWER }],
  refused: [
    {
      what: 'a token of another application',
      header: {},
      claims: { ...GOOGLE_ANSWER, aud: 'app.apps.googleusercontent.com' },
      reason: 'audience',
    },
    {
      what: 'a token that was not asked for with openid',
      header: {},
      claims: { ...GOOGLE_ANSWER, sub: undefined },
      reason: 'claim',
    },
  ],
  errors: [
    {
      status: 400,
      body: { error: 'invalid_grant', error_description: 'Token has been expired or revoked.' },
      refresh: 401,
    },
  ],
};

const B2C = 'https://tenant.b2clogin.com';
const B2C_POLICY = `${B2C}/tenant.onmicrosoft.com/b2c_1_sign_in`;
const B2C_ISSUER = `${B2C}/${RED}/v2.0/`;
const B2C_HEADER = { typ: 'JWT', kid: 'b2c-key' };
const B2C_CLAIMS = {
  ...{ iss: B2C_ISSUER, aud: API, sub: 'object-id', azp: 'gateway-app', ver: '1.0', nbf: 1 },
  ...{ tfp: 'B2C_1_sign_in', scp: 'orders.read' },
};

export const B2C_ROW: Imitation = {
  name: 'Azure AD B2C',
  config: `identity_provider:
  issuer: ${B2C_ISSUER}
  discovery_url: ${B2C_POLICY}/v2.0/.well-known/openid-configuration
  client_id: gateway-app
  client_authentication: client_secret_post
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid offline_access https://tenant.onmicrosoft.com/orders/orders.read
access_tokens:
  audience: ${API}    # the client ID of the API
  principal: [azp, sub]`,
  told: 'a user flow `B2C_1_sign_in`, and two app registrations: one for the API, which exposes a scope, and one for the gateway. All user flows have one issuer and one key set',
  sources: [
    'https://learn.microsoft.com/en-us/azure/active-directory-b2c/tokens-overview',
    'https://github.com/ory/kratos/issues/4536',
    'https://github.com/coreos/go-oidc/issues/121',
  ],
  discovery: {
    url: `${B2C_POLICY}/v2.0/.well-known/openid-configuration`,
    document: {
      issuer: B2C_ISSUER,
      authorization_endpoint: `${B2C_POLICY}/oauth2/v2.0/authorize`,
      token_endpoint: `${B2C_POLICY}/oauth2/v2.0/token`,
      jwks_uri: `${B2C_POLICY}/discovery/v2.0/keys`,
    },
  },
  keySetUrl: `${B2C_POLICY}/discovery/v2.0/keys`,
  key: { kid: 'b2c-key', use: 'sig', alg: undefined, nbf: 1 },
  tokenUrl: `${B2C_POLICY}/oauth2/v2.0/token`,
  accepted: [{ what: "a user's token", header: B2C_HEADER, claims: B2C_CLAIMS }],
  refused: [
    {
      what: 'an ID token',
      header: B2C_HEADER,
      claims: { ...B2C_CLAIMS, aud: 'gateway-app', azp: undefined, scp: undefined },
      reason: 'audience',
    },
  ],
  errors: [
    {
      status: 400,
      body: { error: 'invalid_grant', error_description: 'AADB2C90080: The provided grant has expired.' },
      refresh: 401,
    },
  ],
};

const CIAM = `https://${RED}.ciamlogin.com/${RED}/v2.0`;
const CIAM_NAMED = `https://tenant.ciamlogin.com/${RED}`;
const CIAM_CLAIMS = { ...entraClaims(RED), iss: CIAM };

export const EXTERNAL_ID: Imitation = {
  name: 'Entra External ID',
  config: `identity_provider:
  issuer: ${CIAM}
  discovery_url: ${CIAM_NAMED}/v2.0/.well-known/openid-configuration
  client_id: gateway-app
  client_authentication: client_secret_post
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid offline_access api://orders/orders.read
access_tokens:
  audience: ${API}    # the client ID of the API
  principal: [azp, sub]`,
  told: `in the external tenant, ${TWO_APPS}. The tenant's ID is in the host of the issuer, its name in that of the endpoints`,
  sources: [
    'https://github.com/oauth2-proxy/oauth2-proxy/issues/3476',
    'https://github.com/AzureAD/microsoft-authentication-library-for-js/pull/8595',
  ],
  discovery: {
    url: `${CIAM_NAMED}/v2.0/.well-known/openid-configuration`,
    document: {
      issuer: CIAM,
      authorization_endpoint: `${CIAM_NAMED}/oauth2/v2.0/authorize`,
      token_endpoint: `${CIAM_NAMED}/oauth2/v2.0/token`,
      jwks_uri: `${CIAM_NAMED}/discovery/v2.0/keys`,
    },
  },
  keySetUrl: `${CIAM_NAMED}/discovery/v2.0/keys`,
  key: entraKey(CIAM),
  tokenUrl: `${CIAM_NAMED}/oauth2/v2.0/token`,
  accepted: [{ what: "a user's token", header: ENTRA_HEADER, claims: CIAM_CLAIMS }],
  refused: [
    {
      what: 'a token of the same tenant under the issuer of Entra ID',
      header: ENTRA_HEADER,
      claims: entraClaims(RED),
      reason: 'issuer',
    },
  ],
  errors: ENTRA_ERRORS,
};

const GITHUB = 'https://token.actions.githubusercontent.com';
const GITHUB_HEADER = { typ: 'JWT', kid: 'github-key', x5t: 'github-thumbprint' };
const GITHUB_CLAIMS = {
  ...{ iss: GITHUB, aud: 'https://api.example.com', sub: 'repo:octo-org/octo-repo:environment:prod', nbf: 1 },
  ...{
    repository: 'octo-org/octo-repo',
    repository_id: '74',
    repository_owner_id: '65',
    ref: 'refs/heads/main',
  },
};

export const GITHUB_ROW: Imitation = {
  name: 'GitHub Actions',
  config: `identity_provider:
  issuer: ${GITHUB}    # an enterprise may have its slug after it
access_tokens:
  audience: https://api.example.com
  principal: [repository_id]
  bots: { claim: repository_id, principal: [repository_id] }`,
  told: 'in the workflow, the permission `id-token: write` and `core.getIDToken("https://api.example.com")`. Every repository on GitHub gets such tokens, so let each route say whose pass: `require: { claims: { repository_owner_id: ["65"] } }`',
  sources: ['https://docs.github.com/en/actions/reference/security/oidc'],
  discovery: {
    url: `${GITHUB}/.well-known/openid-configuration`,
    // Neither an authorization nor a token endpoint.
    document: { issuer: GITHUB, jwks_uri: `${GITHUB}/.well-known/jwks` },
  },
  keySetUrl: `${GITHUB}/.well-known/jwks`,
  key: { kid: 'github-key', use: 'sig', alg: 'RS256', x5t: 'github-thumbprint', x5c: ['MII'] },
  accepted: [{ what: "a job's token", header: GITHUB_HEADER, claims: GITHUB_CLAIMS }],
  refused: [
    {
      what: 'a token for the owner of the repository, as by default',
      header: GITHUB_HEADER,
      claims: { ...GITHUB_CLAIMS, aud: 'https://github.com/octo-org' },
      reason: 'audience',
    },
    {
      what: 'a token of an enterprise with an issuer of its own',
      header: GITHUB_HEADER,
      claims: { ...GITHUB_CLAIMS, iss: `${GITHUB}/octo-enterprise` },
      reason: 'issuer',
    },
  ],
};

const LOGTO = 'https://tenant.logto.app/oidc';
const LOGTO_CLAIMS = {
  ...{ iss: LOGTO, aud: 'https://api.example.com', sub: 'user-1', client_id: 'gateway', jti: 'j' },
  scope: 'orders.read',
};

export const LOGTO_ROW: Imitation = {
  name: 'Logto',
  config: `identity_provider:
  issuer: ${LOGTO}
  client_id: gateway
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid offline_access orders.read
  authorization_parameters: { fixed: { resource: "https://api.example.com", prompt: consent } }
access_tokens:
  audience: https://api.example.com
  principal: [client_id, sub]`,
  told: 'an API resource https://api.example.com with its permissions, in a role of the users; a Traditional Web application for the gateway. Without the fixed prompt there is no refresh token',
  sources: [
    'https://docs.logto.io/authorization/validate-access-tokens',
    'https://github.com/logto-io/js/issues/1162',
    'https://github.com/logto-io/logto/issues/4399',
  ],
  ...published(LOGTO, {
    authorization_endpoint: `${LOGTO}/auth`,
    token_endpoint: `${LOGTO}/token`,
    jwks_uri: `${LOGTO}/jwks`,
  }),
  resource: 'https://api.example.com',
  key: { kid: 'logto-key', use: 'sig', alg: 'RS256' },
  accepted: [{ what: "a user's token", header: { typ: 'at+jwt', kid: 'logto-key' }, claims: LOGTO_CLAIMS }],
  refused: [
    {
      what: 'an ID token',
      header: { kid: 'logto-key' },
      claims: { ...LOGTO_CLAIMS, aud: 'gateway', at_hash: 'x' },
      reason: 'audience',
    },
  ],
  errors: [{ status: 400, body: { error: 'invalid_grant', code: 'oidc.invalid_grant' }, refresh: 401 }],
};

const FIREBASE = 'https://securetoken.google.com/shop-1234';
const FIREBASE_CLAIMS = {
  ...{ iss: FIREBASE, aud: 'shop-1234', sub: 'u1', user_id: 'u1', auth_time: 1_700_000_000 },
  firebase: { identities: {}, sign_in_provider: 'password' },
};

export const FIREBASE_ROW: Imitation = {
  name: 'Firebase Authentication',
  config: `identity_provider:
  issuer: ${FIREBASE}    # the project
access_tokens:
  audience: shop-1234
  principal: [sub]`,
  told: 'nothing: clients sign in with its libraries and send their ID token, the only one there is. Custom tokens (`createCustomToken`) are no such tokens',
  sources: ['https://firebase.google.com/docs/auth/admin/verify-id-tokens'],
  ...published(FIREBASE, {
    authorization_endpoint: 'https://accounts.google.com/o/oauth2/v2/auth',
    token_endpoint: 'https://securetoken.googleapis.com/v1/token',
    jwks_uri: 'https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com',
  }),
  key: { kid: 'firebase-key', use: 'sig' },
  accepted: [
    { what: "a user's token", header: { kid: 'firebase-key', typ: 'JWT' }, claims: FIREBASE_CLAIMS },
  ],
  refused: [
    {
      what: 'a token of another project',
      header: { kid: 'firebase-key', typ: 'JWT' },
      claims: { ...FIREBASE_CLAIMS, iss: 'https://securetoken.google.com/other', aud: 'other' },
      reason: 'issuer',
    },
  ],
};

const SUPABASE = 'https://abcdefgh.supabase.co/auth/v1';
const SUPABASE_CLAIMS = {
  ...{ iss: SUPABASE, aud: 'authenticated', sub: '123e4567-e89b-12d3-a456-426614174000' },
  ...{ role: 'authenticated', aal: 'aal1', session_id: 's-1', email: 'a@example.com', is_anonymous: false },
};

export const SUPABASE_ROW: Imitation = {
  name: 'Supabase',
  config: `identity_provider:
  issuer: ${SUPABASE}
  endpoints: { key_set: "${SUPABASE}/.well-known/jwks.json" }
access_tokens:
  audience: authenticated
  principal: [sub]
  roles: [role]`,
  told: 'JWT signing keys (ES256 or RS256) in place of the legacy secret: tokens by a secret (HS256), and its `anon` and `service_role` keys, are refused',
  sources: [
    'https://supabase.com/docs/guides/auth/jwts',
    'https://supabase.com/docs/guides/auth/jwt-fields',
    'https://github.com/supabase/auth/issues/2829',
  ],
  discovery: null,
  keySetUrl: `${SUPABASE}/.well-known/jwks.json`,
  key: { kid: 'supabase-key', use: 'sig', alg: 'RS256', key_ops: ['verify'], ext: true },
  accepted: [
    { what: "a user's token", header: { kid: 'supabase-key', typ: 'JWT' }, claims: SUPABASE_CLAIMS },
  ],
  refused: [
    {
      what: 'a token of nobody',
      header: { kid: 'supabase-key', typ: 'JWT' },
      claims: { ...SUPABASE_CLAIMS, sub: undefined },
      reason: 'claim',
    },
  ],
};

const CLERK = 'https://clerk.example.com';
const CLERK_CLAIMS = {
  ...{ iss: CLERK, azp: 'https://app.example.com', sub: 'user_123', sid: 'sess_123', sts: 'active' },
  ...{ jti: 'j', v: 2, fva: [7, -1] },
};

export const CLERK_ROW: Imitation = {
  name: 'Clerk',
  config: `identity_provider:
  issuer: ${CLERK}
  endpoints: { key_set: "${CLERK}/.well-known/jwks.json" }
access_tokens:
  audience: [https://app.example.com, https://shop.example.com]    # the origins of the pages
  audience_claim: azp
  token_kind: { claim: sid }    # of session tokens alone
  principal: [sub]`,
  told: 'nothing: session tokens name no audience, but the page that they are for. Those by a JWT template have no `sid`, so they are refused',
  sources: [
    'https://clerk.com/docs/guides/sessions/session-tokens',
    'https://clerk.com/docs/guides/sessions/manual-jwt-verification',
  ],
  discovery: null,
  keySetUrl: `${CLERK}/.well-known/jwks.json`,
  key: { kid: 'ins_123', use: 'sig', alg: 'RS256' },
  accepted: [
    {
      what: 'a session token',
      header: { kid: 'ins_123', typ: 'JWT', cat: 'cl_B7d4PD111AAA' },
      claims: CLERK_CLAIMS,
    },
  ],
  refused: [
    {
      what: 'a token of a page elsewhere',
      header: { kid: 'ins_123', typ: 'JWT' },
      claims: { ...CLERK_CLAIMS, azp: 'https://evil.example' },
      reason: 'audience',
    },
    {
      what: 'a token by a template, made for others',
      header: { kid: 'ins_123', typ: 'JWT' },
      claims: { ...CLERK_CLAIMS, sid: undefined },
      reason: 'token_kind',
    },
  ],
};
