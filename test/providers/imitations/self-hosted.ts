import { type Imitation, type ProviderRow, published } from './imitation.ts';

// Providers that people run themselves, and platforms that issue tokens to jobs and pods.

const KEYCLOAK = 'https://id.example.com/realms/main';
const INSIDE = 'http://keycloak.identity.svc:8080/realms/main';
const OIDC = 'protocol/openid-connect';
const KEYCLOAK_HEADER = { typ: 'JWT', kid: 'keycloak-key' };
const KEYCLOAK_CLAIMS = {
  ...{ iss: KEYCLOAK, aud: 'api', azp: 'gateway', sub: 'u-1', sid: 's-1', typ: 'Bearer', jti: 'j' },
  ...{ scope: 'openid', acr: '1', realm_access: { roles: ['clerk'] } },
};
const KEYCLOAK_ID_TOKEN = {
  ...{ what: 'an ID token', header: KEYCLOAK_HEADER, reason: 'audience' },
  claims: { ...KEYCLOAK_CLAIMS, typ: 'ID', aud: 'gateway', at_hash: 'x' },
};
const KEYCLOAK_CONFIG = `identity_provider:
  issuer: ${KEYCLOAK}
  client_id: gateway
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
access_tokens:
  audience: api
  bots: { claim: client_id, principal: [azp] }`;

export const KEYCLOAK_ROW: Imitation = {
  name: 'Keycloak',
  real: '26.7.3, by `npm run test:keycloak`',
  config: KEYCLOAK_CONFIG,
  told: 'a client `gateway` with an audience mapper for `api`, see [Keycloak](keycloak.md)',
  sources: [
    'https://www.keycloak.org/docs/latest/server_admin/',
    'servers 26.4.0 and 26.7.3, `npm run test:keycloak`',
  ],
  ...published(KEYCLOAK, {
    authorization_endpoint: `${KEYCLOAK}/${OIDC}/auth`,
    token_endpoint: `${KEYCLOAK}/${OIDC}/token`,
    jwks_uri: `${KEYCLOAK}/${OIDC}/certs`,
    revocation_endpoint: `${KEYCLOAK}/${OIDC}/revoke`,
    end_session_endpoint: `${KEYCLOAK}/${OIDC}/logout`,
  }),
  key: { kid: 'keycloak-key', alg: 'RS256', use: 'sig' },
  accepted: [
    { what: "a user's token", header: KEYCLOAK_HEADER, claims: KEYCLOAK_CLAIMS },
    {
      what: "a service account's token",
      header: KEYCLOAK_HEADER,
      claims: { ...KEYCLOAK_CLAIMS, sid: undefined, client_id: 'reporting', azp: 'reporting' },
    },
  ],
  refused: [KEYCLOAK_ID_TOKEN],
  errors: [
    { status: 400, body: { error: 'invalid_grant', error_description: 'Token is not active' }, refresh: 401 },
    // A wrong secret.
    {
      status: 401,
      body: { error: 'unauthorized_client', error_description: 'Invalid client credentials' },
      refresh: 500,
    },
  ],
};

export const KEYCLOAK_SPLIT: Imitation = {
  ...KEYCLOAK_ROW,
  name: 'Keycloak, other names inside',
  real: '26.7.3, by `npm run test:keycloak`',
  config: KEYCLOAK_CONFIG.replace(
    '  client_id: gateway\n',
    `  discovery_url: ${INSIDE}/.well-known/openid-configuration
  endpoints:
    revocation: ${INSIDE}/${OIDC}/revoke
    end_session: ${INSIDE}/${OIDC}/logout
  allow_http: true
  client_id: gateway
`,
  ),
  told: '`--hostname=https://id.example.com --hostname-backchannel-dynamic=true`',
  discovery: {
    url: `${INSIDE}/.well-known/openid-configuration`,
    // Tokens, introspection and keys inside, the rest outside: seen on 26.7.3.
    document: {
      ...KEYCLOAK_ROW.discovery?.document,
      token_endpoint: `${INSIDE}/${OIDC}/token`,
      jwks_uri: `${INSIDE}/${OIDC}/certs`,
    },
  },
  keySetUrl: `${INSIDE}/${OIDC}/certs`,
  tokenUrl: `${INSIDE}/${OIDC}/token`,
};

const ZITADEL = 'https://instance.zitadel.cloud';
const ROLES = 'urn:zitadel:iam:org:project:roles';
const ZITADEL_CLAIMS = {
  ...{ iss: ZITADEL, sub: '300', aud: ['gateway', '200'], client_id: 'gateway', jti: 'j' },
  [ROLES]: { clerk: { '100': 'example.com' } },
};

export const ZITADEL_ROW: Imitation = {
  name: 'ZITADEL',
  config: `identity_provider:
  issuer: ${ZITADEL}
  client_id: gateway
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid offline_access urn:zitadel:iam:org:project:id:200:aud
access_tokens:
  audience: "200"    # the project
  principal: [client_id, sub]
  roles: ["${ROLES}"]`,
  told: 'an application whose Auth Token Type is JWT; Assert Roles on Authentication in its project. Versions before September 2024 issue JWTs without `client_id`',
  sources: [
    'https://zitadel.com/docs/apis/openidoauth/claims',
    'https://zitadel.com/docs/apis/openidoauth/scopes',
    // JWTs have `client_id` since September 2024.
    'https://github.com/zitadel/oidc/issues/649',
  ],
  ...published(ZITADEL, {
    authorization_endpoint: `${ZITADEL}/oauth/v2/authorize`,
    token_endpoint: `${ZITADEL}/oauth/v2/token`,
    jwks_uri: `${ZITADEL}/oauth/v2/keys`,
  }),
  key: { kid: 'zitadel-key', use: 'sig', alg: 'RS256' },
  accepted: [{ what: "a user's token", header: { typ: 'JWT', kid: 'zitadel-key' }, claims: ZITADEL_CLAIMS }],
  refused: [
    {
      what: 'an ID token',
      header: { typ: 'JWT', kid: 'zitadel-key' },
      claims: { ...ZITADEL_CLAIMS, azp: 'gateway', at_hash: 'x' },
      reason: 'token_kind',
    },
  ],
  errors: [
    {
      status: 400,
      body: { error: 'invalid_grant', error_description: 'Errors.User.RefreshToken.Invalid' },
      refresh: 401,
    },
  ],
};

const AUTHENTIK = 'https://authentik.example.com/application/o/gateway/';
const AUTHENTIK_CLAIMS = {
  ...{ iss: AUTHENTIK, sub: 'hash', aud: 'gateway', auth_time: 1, nonce: 'n', sid: 's' },
  ...{ acr: 'goauthentik.io/providers/oauth2/default', amr: ['pwd'] },
};

export const AUTHENTIK_ROW: Imitation = {
  name: 'authentik',
  config: `identity_provider:
  issuer: ${AUTHENTIK}
  client_id: gateway
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid profile offline_access
access_tokens:
  audience: gateway    # the client ID
  token_kind: { claim: uid }    # of access tokens alone
  principal: [azp, sub]`,
  told: 'a Signing Key (else tokens are HS256). Let no scope mapping return a claim `uid`, since that would get into ID tokens',
  sources: [
    'https://docs.goauthentik.io/docs/add-secure-apps/providers/oauth2/',
    // `to_access_token` adds `azp` and `uid` to what an ID token has.
    'https://github.com/goauthentik/authentik/blob/main/authentik/providers/oauth2/id_token.py',
  ],
  ...published(AUTHENTIK, {
    authorization_endpoint: 'https://authentik.example.com/application/o/authorize/',
    token_endpoint: 'https://authentik.example.com/application/o/token/',
    jwks_uri: `${AUTHENTIK}jwks/`,
  }),
  key: { kid: 'authentik-key', use: 'sig', alg: 'RS256', x5t: 'a', 'x5t#S256': 'b', x5c: ['MII'] },
  accepted: [
    {
      what: "a user's token",
      header: { typ: 'JWT', kid: 'authentik-key' },
      claims: { ...AUTHENTIK_CLAIMS, azp: 'gateway', uid: 'u' },
    },
  ],
  refused: [
    {
      what: 'an ID token',
      header: { typ: 'JWT', kid: 'authentik-key' },
      claims: AUTHENTIK_CLAIMS,
      reason: 'token_kind',
    },
    {
      what: 'an ID token that came with a refresh token',
      header: { typ: 'JWT', kid: 'authentik-key' },
      claims: { ...AUTHENTIK_CLAIMS, at_hash: 'x' },
      reason: 'token_kind',
    },
  ],
};

const HYDRA = 'https://hydra.example.com';
const HYDRA_CLAIMS = {
  ...{ iss: HYDRA, aud: ['https://api.example.com'], client_id: 'gateway', sub: 'alice', jti: 'j' },
  ...{ scp: ['openid', 'offline'], ext: {}, nbf: 1 },
};

export const HYDRA_JWT: Imitation = {
  name: 'Ory Hydra, JWTs',
  real: 'v2.3.0',
  config: `identity_provider:
  issuer: ${HYDRA}
  client_id: gateway
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid offline
  authorization_parameters: { fixed: { audience: "https://api.example.com" } }
access_tokens:
  audience: https://api.example.com
  principal: [client_id, sub]`,
  told: '`strategies.access_token: jwt`, and https://api.example.com in the `audience` of the client. It refuses clients that add no `state` of 8 characters or more to the address of the login page',
  sources: [
    'https://www.ory.sh/docs/oauth2-oidc/jwt-access-token',
    'https://www.ory.sh/docs/hydra/guides/audiences',
  ],
  ...published(HYDRA, {
    authorization_endpoint: `${HYDRA}/oauth2/auth`,
    token_endpoint: `${HYDRA}/oauth2/token`,
    jwks_uri: `${HYDRA}/.well-known/jwks.json`,
    revocation_endpoint: `${HYDRA}/oauth2/revoke`,
  }),
  key: { kid: 'hydra-key', use: 'sig', alg: 'RS256' },
  accepted: [{ what: "a user's token", header: { typ: 'JWT', kid: 'hydra-key' }, claims: HYDRA_CLAIMS }],
  refused: [
    {
      what: 'an ID token',
      header: { typ: 'JWT', kid: 'hydra-key' },
      claims: { ...HYDRA_CLAIMS, aud: ['gateway'], at_hash: 'x', rat: 1 },
      reason: 'audience',
    },
  ],
  // A refresh token that was rotated away.
  errors: [
    { status: 401, body: { error: 'token_inactive', error_description: 'Token is inactive' }, refresh: 401 },
  ],
};

/** An answer of `/admin/oauth2/introspect`. */
const HYDRA_ANSWER = {
  ...{ iss: HYDRA, aud: ['https://api.example.com'], client_id: 'gateway', sub: 'alice', nbf: 1 },
  ...{ scope: 'openid offline', token_type: 'Bearer', token_use: 'access_token', ext: {} },
};

export const HYDRA_OPAQUE: Imitation = {
  ...HYDRA_JWT,
  name: 'Ory Hydra, opaque tokens',
  real: 'v2.3.0',
  config: `identity_provider:
  issuer: ${HYDRA}
  endpoints: { introspection: "http://hydra-admin.identity.svc:4445/admin/oauth2/introspect" }
  allow_http: true
  client_id: gateway
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid offline
  authorization_parameters: { fixed: { audience: "https://api.example.com" } }
access_tokens:
  audience: https://api.example.com
  principal: [client_id, sub]
  opaque_tokens: { cache: 30s }`,
  told: 'https://api.example.com in the `audience` of the client. Clients add a `state`, as above. Only the gateway may reach the port of the admin API',
  sources: [
    'https://www.ory.sh/docs/reference/api',
    'https://www.ory.sh/docs/hydra/guides/audiences',
    'https://github.com/ory/hydra/blob/master/oauth2/handler.go',
  ],
  introspectionUrl: 'http://hydra-admin.identity.svc:4445/admin/oauth2/introspect',
  accepted: [{ what: "a user's token", header: {}, claims: HYDRA_ANSWER }],
  refused: [
    {
      what: 'a refresh token',
      header: {},
      claims: { ...HYDRA_ANSWER, token_type: undefined, token_use: 'refresh_token' },
      reason: 'token_kind',
    },
    {
      what: 'a token without this audience',
      header: {},
      claims: { ...HYDRA_ANSWER, aud: [] },
      reason: 'audience',
    },
  ],
};

const DEX = 'https://dex.example.com';
const DEX_CLAIMS = {
  ...{ iss: DEX, sub: 'CgVhbGljZRIFbG9jYWw', aud: ['api', 'gateway'], azp: 'gateway', at_hash: 'x' },
  ...{ email: 'alice@example.com', email_verified: true },
};

export const DEX_ROW: Imitation = {
  name: 'Dex',
  real: 'v2.13.0 of 2018, whose access tokens are still opaque: sign-in, refresh, ID tokens. Those of today: an imitation',
  config: `identity_provider:
  issuer: ${DEX}
  client_id: gateway
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid offline_access email audience:server:client_id:api
access_tokens:
  audience: api
  token_kind: access_or_id    # Dex makes both alike
  principal: [azp, sub]`,
  told: 'two static clients: `gateway`, and `api` with `trustedPeers: [gateway]`, at which nobody signs in. [ID tokens for `api` count as well](#dex)',
  sources: [
    'https://dexidp.io/docs/configuration/custom-scopes-claims-clients/',
    'https://github.com/dexidp/dex/blob/master/server/oauth2.go',
  ],
  ...published(DEX, {
    authorization_endpoint: `${DEX}/auth`,
    token_endpoint: `${DEX}/token`,
    jwks_uri: `${DEX}/keys`,
    introspection_endpoint: `${DEX}/token/introspect`,
  }),
  key: { kid: 'dex-key', use: 'sig', alg: 'RS256' },
  accepted: [
    {
      what: 'an access token, whose at_hash is that of a random text',
      header: { kid: 'dex-key' },
      claims: DEX_CLAIMS,
    },
    {
      what: 'an ID token, which differs from it in the value of at_hash alone',
      header: { kid: 'dex-key' },
      claims: { ...DEX_CLAIMS, at_hash: 'y' },
    },
  ],
  refused: [
    {
      what: 'an ID token for the client that signed in alone',
      header: { kid: 'dex-key' },
      claims: { ...DEX_CLAIMS, aud: 'gateway', azp: undefined },
      reason: 'audience',
    },
    {
      what: 'a logout token',
      header: { kid: 'dex-key', typ: 'logout+jwt' },
      claims: { ...DEX_CLAIMS, at_hash: undefined, events: {} },
      reason: 'token_kind',
    },
  ],
  // A refresh token that was used before, or is unknown.
  errors: [{ status: 400, body: { error: 'invalid_request' }, refresh: 401 }],
};

const PLAIN = 'https://id.example.com';

/** No imitation: the tests run the package itself. */
export const OIDC_PROVIDER: ProviderRow = {
  name: 'oidc-provider, the npm package',
  real: '9',
  config: `identity_provider:
  issuer: ${PLAIN}
  client_id: gateway
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid orders
  authorization_parameters: { fixed: { resource: "https://api.example.com" } }
access_tokens:
  audience: https://api.example.com
  principal: [client_id, sub]`,
  told: 'the feature `resourceIndicators`, with a `getResourceServerInfo` that returns its scopes, `audience: "https://api.example.com"` and `accessTokenFormat: "jwt"`. Or `"opaque"` with the feature `introspection`, and `opaque_tokens` in gateway.yaml',
  sources: [
    'https://github.com/panva/node-oidc-provider/blob/main/docs/README.md',
    'the package, `npm run test:providers`',
  ],
};

const DUENDE = 'https://ids.example.com';
const DUENDE_CLAIMS = {
  ...{
    iss: DUENDE,
    aud: 'api1',
    client_id: 'gateway',
    sub: '1',
    jti: 'J',
    amr: ['pwd'],
    idp: 'local',
    nbf: 1,
  },
  scope: ['openid', 'orders.read', 'offline_access'],
};

export const DUENDE_ROW: Imitation = {
  name: 'Duende IdentityServer',
  config: `identity_provider:
  issuer: ${DUENDE}
  client_id: gateway
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid orders.read offline_access
access_tokens:
  audience: api1
  principal: [client_id, sub]`,
  told: 'an `ApiResource` with the name api1 that has the scopes; `AllowOfflineAccess` for the client',
  sources: [
    'https://docs.duendesoftware.com/identityserver/tokens/',
    'https://docs.duendesoftware.com/identityserver/reference/options/',
  ],
  ...published(DUENDE, {
    authorization_endpoint: `${DUENDE}/connect/authorize`,
    token_endpoint: `${DUENDE}/connect/token`,
    jwks_uri: `${DUENDE}/.well-known/openid-configuration/jwks`,
  }),
  key: { kid: 'DUENDE', use: 'sig', alg: 'RS256' },
  accepted: [{ what: "a user's token", header: { typ: 'at+jwt', kid: 'DUENDE' }, claims: DUENDE_CLAIMS }],
  refused: [
    {
      what: 'an ID token',
      header: { typ: 'JWT', kid: 'DUENDE' },
      claims: { ...DUENDE_CLAIMS, aud: 'gateway', at_hash: 'x', client_id: undefined, scope: undefined },
      reason: 'audience',
    },
  ],
  errors: [{ status: 400, body: { error: 'invalid_grant' }, refresh: 401 }],
};

const PING = 'https://ping.example.com';
const PING_CLAIMS = {
  iss: PING,
  aud: 'api',
  client_id: 'gateway',
  sub: 'alice',
  scope: 'openid orders.read',
  jti: 'j',
};

export const PING_ROW: Imitation = {
  name: 'PingFederate',
  config: `identity_provider:
  issuer: ${PING}
  client_id: gateway
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
access_tokens:
  audience: api
  principal: [client_id, sub]`,
  told: 'an Access Token Manager of the type JSON Web Tokens with centralized signing key, the issuer and the audience `api` as here, and `sub` in its attribute contract',
  sources: [
    'https://docs.pingidentity.com/pingfederate/latest/administrators_reference_guide/pf_configure_json_token_management.html',
  ],
  ...published(PING, {
    authorization_endpoint: `${PING}/as/authorization.oauth2`,
    token_endpoint: `${PING}/as/token.oauth2`,
    jwks_uri: `${PING}/pf/JWKS`,
    revocation_endpoint: `${PING}/as/revoke_token.oauth2`,
  }),
  key: { kid: 'ping-key', use: 'sig' },
  accepted: [{ what: "a user's token", header: { kid: 'ping-key', 'pi.atm': '1' }, claims: PING_CLAIMS }],
  refused: [
    {
      what: 'an ID token',
      header: { kid: 'ping-key' },
      claims: { ...PING_CLAIMS, aud: 'gateway', at_hash: 'x' },
      reason: 'audience',
    },
  ],
  errors: [
    {
      status: 400,
      body: { error: 'invalid_grant', error_description: 'unknown, invalid, or expired refresh token' },
      refresh: 401,
    },
  ],
};

const AM = 'https://am.example.com/am/oauth2/realms/root/realms/main';
const AM_CLAIMS = {
  ...{ iss: AM, aud: 'web', sub: '(usr!alice)', subname: 'alice', scope: ['openid', 'orders.read'] },
  ...{
    cts: 'OAUTH2_STATELESS_GRANT',
    tokenName: 'access_token',
    grant_type: 'authorization_code',
    realm: '/main',
    expires_in: 3600,
  },
};

export const AM_ROW: Imitation = {
  name: 'PingAM',
  config: `identity_provider:
  issuer: ${AM}
access_tokens:
  audience: [web, mobile]    # tokens are for the client that asked
  token_kind: { claim: tokenName, value: access_token }
  principal: [aud, sub]`,
  told: 'client-based OAuth 2.0 tokens, signed with RS256 or ES256. The gateway only checks tokens here',
  sources: ['https://docs.pingidentity.com/pingam/latest/oauth2-guide/oauth2-client-based-tokens.html'],
  ...published(AM, {
    authorization_endpoint: `${AM}/authorize`,
    token_endpoint: `${AM}/access_token`,
    jwks_uri: `${AM}/connect/jwk_uri`,
  }),
  key: { kid: 'am-key', use: 'sig', alg: 'RS256' },
  accepted: [{ what: "a user's token", header: { typ: 'JWT', kid: 'am-key' }, claims: AM_CLAIMS }],
  refused: [
    {
      what: 'an ID token',
      header: { typ: 'JWT', kid: 'am-key' },
      claims: { ...AM_CLAIMS, tokenName: 'id_token' },
      reason: 'token_kind',
    },
    {
      what: 'a token of another client',
      header: { typ: 'JWT', kid: 'am-key' },
      claims: { ...AM_CLAIMS, aud: 'other' },
      reason: 'audience',
    },
  ],
};

const ADFS = 'https://adfs.example.com/adfs';
const ADFS_CLAIMS = {
  ...{ iss: 'http://adfs.example.com/adfs/services/trust', aud: 'https://api.example.com', appid: 'gateway' },
  ...{ sub: 'alice', apptype: 'Confidential', scp: 'openid', ver: '1.0' },
};

export const ADFS_ROW: Imitation = {
  name: 'AD FS',
  config: `identity_provider:
  issuer: http://adfs.example.com/adfs/services/trust    # access_token_issuer
  endpoints:
    authorization: ${ADFS}/oauth2/authorize/
    token: ${ADFS}/oauth2/token/
    key_set: ${ADFS}/discovery/keys
  client_id: gateway
  client_authentication: client_secret_post
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  authorization_parameters: { fixed: { resource: "https://api.example.com" } }
access_tokens:
  audience: https://api.example.com
  principal: [appid, sub]`,
  told: 'a Web API https://api.example.com in the application group of the gateway, and a rule that issues `sub`',
  sources: [
    'https://learn.microsoft.com/en-us/windows-server/identity/ad-fs/overview/ad-fs-openid-connect-oauth-concepts',
  ],
  discovery: null,
  keySetUrl: `${ADFS}/discovery/keys`,
  key: { kid: undefined, use: 'sig', alg: 'RS256', x5t: 'adfs-thumbprint', x5c: ['MII'] },
  tokenUrl: `${ADFS}/oauth2/token/`,
  // The key is named by its certificate.
  accepted: [
    {
      what: "a user's token",
      header: { typ: 'JWT', kid: undefined, x5t: 'adfs-thumbprint' },
      claims: ADFS_CLAIMS,
    },
  ],
  refused: [
    {
      what: 'an ID token, whose issuer is another',
      header: { typ: 'JWT', kid: undefined, x5t: 'adfs-thumbprint' },
      claims: { ...ADFS_CLAIMS, iss: ADFS, aud: 'gateway' },
      reason: 'issuer',
    },
  ],
  errors: [
    {
      status: 400,
      body: { error: 'invalid_grant', error_description: 'MSIS9615: The refresh token is invalid.' },
      refresh: 401,
    },
  ],
};

const GITLAB = 'https://gitlab.example.com';
const GITLAB_CLAIMS = {
  ...{ iss: GITLAB, aud: 'https://api.example.com', sub: 'project_path:group/shop:ref_type:branch:ref:main' },
  ...{
    project_id: '22',
    project_path: 'group/shop',
    ref: 'main',
    job_id: '1',
    pipeline_id: '2',
    jti: 'j',
    nbf: 1,
  },
};

export const GITLAB_ROW: Imitation = {
  name: 'GitLab jobs',
  config: `identity_provider:
  issuer: ${GITLAB}
access_tokens:
  audience: https://api.example.com
  principal: [project_id]
  bots: { claim: project_id, principal: [project_id] }`,
  told: 'in .gitlab-ci.yml, `id_tokens: { API_TOKEN: { aud: "https://api.example.com" } }`. Tokens of users are opaque',
  sources: ['https://docs.gitlab.com/ci/secrets/id_token_authentication/'],
  ...published(GITLAB, {
    authorization_endpoint: `${GITLAB}/oauth/authorize`,
    token_endpoint: `${GITLAB}/oauth/token`,
    jwks_uri: `${GITLAB}/oauth/discovery/keys`,
  }),
  key: { kid: 'gitlab-key', use: 'sig', alg: 'RS256' },
  accepted: [{ what: "a job's token", header: { typ: 'JWT', kid: 'gitlab-key' }, claims: GITLAB_CLAIMS }],
  refused: [
    {
      what: 'a token for another service',
      header: { typ: 'JWT', kid: 'gitlab-key' },
      claims: { ...GITLAB_CLAIMS, aud: 'vault' },
      reason: 'audience',
    },
  ],
};

const CLUSTER = 'https://kubernetes.default.svc.cluster.local';
const POD_CLAIMS = {
  ...{ iss: CLUSTER, aud: ['https://api.example.com'], sub: 'system:serviceaccount:shop:reports', nbf: 1 },
  'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'reports', uid: 'u' } },
};

export const KUBERNETES_ROW: Imitation = {
  name: 'Kubernetes service accounts',
  config: `identity_provider:
  issuer: ${CLUSTER}
  tls: { ca_file: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt }
access_tokens:
  audience: https://api.example.com
  principal: [sub]
  bots: { claim: "/kubernetes.io/serviceaccount/name", principal: [sub] }`,
  told: 'a projected volume `serviceAccountToken` with this audience, and `kubectl create clusterrolebinding oidc --clusterrole=system:service-account-issuer-discovery --group=system:unauthenticated`',
  sources: [
    'https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/#service-account-issuer-discovery',
    'https://github.com/cloudfoundry/uaa/pull/3365',
  ],
  discovery: {
    url: `${CLUSTER}/.well-known/openid-configuration`,
    // Neither an authorization nor a token endpoint.
    document: {
      issuer: CLUSTER,
      jwks_uri: 'https://10.0.0.1:6443/openid/v1/jwks',
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    },
  },
  keySetUrl: 'https://10.0.0.1:6443/openid/v1/jwks',
  // Other requests get 406.
  keySetType: 'application/jwk-set+json',
  key: { kid: 'cluster-key', use: 'sig', alg: 'RS256' },
  accepted: [{ what: "a pod's token", header: { kid: 'cluster-key' }, claims: POD_CLAIMS }],
  refused: [
    {
      what: 'a token for the API server',
      header: { kid: 'cluster-key' },
      claims: { ...POD_CLAIMS, aud: [CLUSTER] },
      reason: 'audience',
    },
  ],
};

const CASDOOR = 'https://door.example.com';
const CASDOOR_CLAIMS = {
  ...{ iss: CASDOOR, aud: ['gateway'], azp: 'gateway', sub: 'u-1', jti: 'admin/j', scope: 'openid' },
  ...{ owner: 'org', name: 'alice', id: 'u-1', tokenType: 'access-token' },
};

export const CASDOOR_ROW: Imitation = {
  name: 'Casdoor',
  config: `identity_provider:
  issuer: ${CASDOOR}
  client_id: gateway
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
access_tokens:
  audience: gateway    # its tokens are for the client alone
  token_kind: { claim: tokenType, value: access-token }`,
  told: 'an application with the token format JWT-Standard: JWT writes the whole user into each token. Access and ID token are one and the same',
  sources: [
    'https://casdoor.org/docs/token/overview',
    'https://github.com/casdoor/casdoor/issues/1277',
    'https://github.com/casdoor/casdoor/blob/master/object/token_jwt.go',
  ],
  ...published(CASDOOR, {
    authorization_endpoint: `${CASDOOR}/login/oauth/authorize`,
    token_endpoint: `${CASDOOR}/api/login/oauth/access_token`,
    introspection_endpoint: `${CASDOOR}/api/login/oauth/introspect`,
    jwks_uri: `${CASDOOR}/.well-known/jwks`,
  }),
  key: { kid: 'cert-built-in', use: 'sig', alg: 'RS256' },
  accepted: [
    { what: "a user's token", header: { kid: 'cert-built-in', typ: 'JWT' }, claims: CASDOOR_CLAIMS },
  ],
  refused: [
    {
      what: 'a refresh token, which has no kid',
      header: { typ: 'JWT' },
      claims: { ...CASDOOR_CLAIMS, tokenType: 'refresh-token' },
      reason: 'token_kind',
    },
    {
      what: 'a token of another application',
      header: { kid: 'cert-built-in', typ: 'JWT' },
      claims: { ...CASDOOR_CLAIMS, aud: ['other'], azp: 'other' },
      reason: 'audience',
    },
  ],
  errors: [
    { status: 200, body: { error: 'invalid_grant', error_description: 'token is expired' }, refresh: 401 },
  ],
};

const UAA = 'https://uaa.example.com';
const UAA_CLAIMS = {
  ...{ iss: `${UAA}/oauth/token`, aud: ['gateway', 'orders', 'openid'], sub: 'u-1', user_id: 'u-1' },
  ...{ cid: 'gateway', azp: 'gateway', client_id: 'gateway', zid: 'uaa', jti: '5f2b' },
  ...{ scope: ['openid', 'orders.read'], grant_type: 'authorization_code', rev_sig: 'a1b2' },
};

export const UAA_ROW: Imitation = {
  name: 'Cloud Foundry UAA',
  config: `identity_provider:
  issuer: ${UAA}/oauth/token
  discovery_url: ${UAA}/.well-known/openid-configuration
  client_id: gateway
  client_secret_file: /run/secrets/oidc/client-secret
  redirect_uri: https://app.example.com/callback
  scope: openid orders.read
access_tokens:
  audience: orders    # what the scopes begin with`,
  told: 'a client `gateway` with the grants authorization_code and refresh_token, and the scopes of the API',
  sources: [
    'https://docs.cloudfoundry.org/api/uaa/',
    'https://github.com/cloudfoundry/uaa/blob/develop/docs/UAA-Tokens.md',
    'https://github.com/cloudfoundry/uaa/blob/develop/server/src/main/java/org/cloudfoundry/identity/uaa/oauth/refresh/RefreshTokenCreator.java',
  ],
  discovery: {
    url: `${UAA}/.well-known/openid-configuration`,
    document: {
      issuer: `${UAA}/oauth/token`,
      authorization_endpoint: `${UAA}/oauth/authorize`,
      token_endpoint: `${UAA}/oauth/token`,
      jwks_uri: `${UAA}/token_keys`,
    },
  },
  keySetUrl: `${UAA}/token_keys`,
  tokenUrl: `${UAA}/oauth/token`,
  key: { kid: 'uaa-key', use: 'sig', alg: 'RS256', value: '-----BEGIN PUBLIC KEY-----' },
  accepted: [{ what: "a user's token", header: { kid: 'uaa-key', typ: 'JWT' }, claims: UAA_CLAIMS }],
  refused: [
    {
      what: 'a refresh token',
      header: { kid: 'uaa-key', typ: 'JWT' },
      claims: { ...UAA_CLAIMS, jti: '5f2b-r', scope: undefined, granted_scopes: UAA_CLAIMS.scope },
      reason: 'token_kind',
    },
  ],
  errors: [{ status: 401, body: { error: 'invalid_token', error_description: 'x' }, refresh: 401 }],
};
