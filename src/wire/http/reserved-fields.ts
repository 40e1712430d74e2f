/** Names of request fields that servers and frameworks trust unchecked, and what they conclude from them. */
export interface ReservedFields {
  /** The products that write or read them, for the docs. */
  readonly by: string;
  /** What a service would conclude if a client sent them. */
  readonly tells: string;
  /** Spelt as they usually are. A trailing `*` matches any further characters. */
  readonly names: readonly string[];
}

// docs/contract.md, 6.4 has a table of each list, which `npm run tables` writes. The names are those of the products' own
// documentation or sources. Prefixes stop before names that ordinary clients send: `X-Middleware-Prefetch` of Next.js,
// `CF-Access-Client-Id`, `X-Warpgate-Token`. 6.4 lists those as well, and a test keeps both apart.

/**
 * Fields that make a backend act on another method or path than the one that was routed and limited. Removed from all senders.
 */
export const OVERRIDES: readonly ReservedFields[] = [
  {
    by: 'Rails, Symfony, ASP.NET and others',
    tells: 'the method',
    names: [
      ...['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'X-Method', 'HTTP-Method-Override'],
    ],
  },
  {
    by: 'IIS, Symfony, Zend and others',
    tells: 'the path',
    names: ['X-Original-URL', 'X-Rewrite-URL', 'X-Override-URL'],
  },
];

/**
 * Fields that a framework sends to itself, not a proxy to it. Removed from all senders, since a proxy that does not know them
 * passes on what its clients send; `keep` exempts them.
 */
export const INTERNAL: readonly ReservedFields[] = [
  {
    // Listed in filterInternalHeaders() and stripInternalHeaders() of Next.js. CVE-2025-29927 is about the second.
    by: 'Next.js',
    tells: 'which route, path and status were chosen, and that the middleware, which checks access, has run',
    names: [
      ...['X-Middleware-Subrequest', 'X-Middleware-Subrequest-Id', 'X-Middleware-Rewrite'],
      ...['X-Middleware-Redirect', 'X-Middleware-Next', 'X-Middleware-Skip', 'X-Middleware-Invoke'],
      ...['X-Middleware-Set-Cookie', 'X-Middleware-Override-Headers', 'X-Invoke-*', 'X-Matched-Path'],
      'X-Now-Route-Matches',
    ],
  },
];

/** Fields that claim where a request came from, which host, scheme or path it was sent to, or what a proxy decided. */
export const ORIGIN_CLAIMS: readonly ReservedFields[] = [
  {
    by: 'proxies of all kinds (RFC 7239)',
    tells: 'address, host, scheme and path of the request',
    names: ['Forwarded', 'Forwarded-*', 'X-Forwarded', 'X-Forwarded-*'],
  },
  {
    by: 'proxies and load balancers',
    tells: "the client's address",
    names: [
      ...['X-Forward-For', 'X-Forwarder-For', 'X-Original-Forwarded-For', 'X-Originally-Forwarded-For'],
      ...['X-Real-IP', 'X-Client-Real-IP', 'Client-IP', 'X-Client-IP', 'True-Client-IP', 'X-True-Client-IP'],
      ...['Cluster-Client-IP', 'X-Cluster-Client-IP', 'Remote-Addr', 'Remote-Host', 'X-Remote-IP'],
      ...['X-Remote-Addr', 'X-Remote-Host', 'X-Original-Remote-Addr', 'X-Originating-IP', 'X-ProxyUser-IP'],
      ...['Proxy-Client-IP', 'WL-Proxy-*', 'X-Custom-IP-Authorization'],
    ],
  },
  {
    by: 'Java code that takes variables of CGI for fields',
    tells: 'the same',
    names: ['HTTP-Client-IP', 'HTTP-Forwarded', 'HTTP-Forwarded-*', 'HTTP-X-*'],
  },
  {
    // CF-Worker: the zone of the Worker that sent the request.
    by: 'CDNs',
    tells: "the client's address, country and protocol, and which worker sends",
    names: [
      ...['Ali-CDN-Real-IP', 'CDN-Src-IP', 'CF-Connecting-*', 'CF-IPCountry', 'CF-Pseudo-IPv4', 'CF-Visitor'],
      ...['CF-Worker', 'CloudFront-*', 'Fastly-Client-IP', 'Fastly-SSL', 'Incap-Client-IP'],
      ...['X-Sucuri-ClientIP', 'X-Akamai-EdgeScape'],
    ],
  },
  {
    // Envoy even obeys some of them: timeouts, retries, another destination. So does Linkerd with l5d-dst-override.
    by: 'clouds and meshes',
    tells: 'address, host, path and TLS of the request, or where to send it',
    names: [
      ...['DO-Connecting-IP', 'Fly-Client-IP', 'X-Amzn-TLS-*', 'X-AppEngine-*', 'X-ARR-*', 'X-Azure-*'],
      ...['Disguised-Host', 'Was-Default-Hostname', 'X-AppService-Proto', 'X-MS-Original-URL'],
      ...['X-WAWS-Unencoded-URL', 'X-Envoy-*', 'L5d-Remote-IP', 'L5d-Dst-Override'],
      ...['X-NF-Client-Connection-IP', 'X-Vercel-Forwarded-For', 'X-Vercel-IP-*'],
    ],
  },
  {
    by: 'proxies',
    tells: 'the host, scheme and method before a rewrite',
    names: [
      ...['X-Forward-Proto', 'X-Forward-Host', 'X-Real-Host', 'X-Host', 'X-Host-Override'],
      ...['X-HTTP-Host-Override', 'X-Original-Host', 'X-Original-Method', 'Front-End-Https'],
      ...['X-Original-Proto', 'X-Original-Scheme', 'X-Scheme', 'X-URL-Scheme'],
    ],
  },
  {
    // gunicorn strips SCRIPT_NAME from the front of the path (benoitc/gunicorn#2650).
    by: 'proxies',
    tells: 'the path before a rewrite, or the part of it to leave out',
    names: ['Script-Name', 'X-Script-Name', 'X-Original-URI'],
  },
  {
    // CGI turns `Proxy` into HTTP_PROXY, which programs use as their outgoing proxy (httpoxy, CVE-2016-5385). The others make
    // Rack and Symfony tell the server in front of them which files to send.
    by: 'CGI, Rack and Symfony',
    tells: 'which proxy to use, and which files the server in front may send',
    names: ['Proxy', 'X-Accel-Mapping', 'X-Sendfile-Type'],
  },
];

/** Fields that claim who sent the request: the user that a proxy authenticated, or the client's certificate. */
export const CALLER_CLAIMS: readonly ReservedFields[] = [
  {
    // REMOTE_USER of CGI (RFC 3875, 4.1.11). Those with X- are read by Kubernetes, Dex, ManageIQ and Home Assistant.
    by: 'Authelia and servers that speak for CGI',
    tells: 'user, name, groups and mail of the caller',
    names: [
      ...['Remote-User', 'Remote-Name', 'Remote-Email', 'Remote-Groups', 'X-Remote-User', 'X-Remote-User-*'],
      ...['X-Remote-UID', 'X-Remote-Group', 'X-Remote-Groups', 'X-Remote-Extra-*'],
    ],
  },
  {
    by: 'Kubernetes behind Teleport, Pinniped and other proxies',
    tells: 'whom the sender acts for',
    names: ['Impersonate-*'],
  },
  {
    by: 'Kong',
    tells: 'the consumer, its credential and groups, the user and scopes; APISIX writes some of them',
    names: ['X-Consumer-*', 'X-Credential-*', 'X-Anonymous-Consumer', 'X-Authenticated-*'],
  },
  {
    by: 'OpenID Connect in APISIX and Kong',
    tells: 'claims of the user, as JSON in base64 without a signature',
    names: ['X-Userinfo', 'X-ID-Token'],
  },
  {
    by: 'oauth2-proxy, OpenShift, Traefik, Jenkins',
    tells: 'user, groups, mail and tokens',
    names: [
      ...['X-Auth-Request-*', 'X-Forwarded-User', 'X-Forwarded-Email', 'X-Forwarded-Groups'],
      ...['X-Forwarded-Preferred-Username', 'X-Forwarded-Access-Token'],
    ],
  },
  {
    by: 'Gatekeeper (Louketo) and others',
    tells: 'user, roles, groups and mail',
    names: [
      ...['X-Auth-User', 'X-Auth-Userid', 'X-Auth-Username', 'X-Auth-Subject', 'X-Auth-Email'],
      ...['X-Auth-Groups', 'X-Auth-Roles', 'X-Auth-Audience', 'X-Auth-ExpiresIn'],
    ],
  },
  {
    by: 'authentik, Pomerium, Tailscale, Teleport, Vouch, Warpgate, ngrok',
    tells: 'the user, often with groups or a token',
    names: [
      ...['X-authentik-*', 'X-Pomerium-*', 'Tailscale-*', 'Teleport-JWT-Assertion', 'X-Vouch-User'],
      ...['X-Vouch-Success', 'X-Vouch-IdP-*', 'X-Warpgate-Username', 'X-Warpgate-Authentication-Type'],
      'Ngrok-Auth-*',
    ],
  },
  {
    by: 'Ory Kratos, LemonLDAP::NG, YunoHost, geOrchestra, AuthCrunch (Caddy)',
    tells: 'the user, with mail, roles or organisation',
    names: [
      ...['X-Kratos-Authenticated-Identity-Id', 'Auth-User', 'Auth-Mail', 'Ynh-User', 'Ynh-User-*'],
      ...['Sec-Username', 'Sec-UserId', 'Sec-Roles', 'Sec-Org', 'Sec-Email', 'Sec-Firstname', 'Sec-Lastname'],
      ...['X-Token-Subject', 'X-Token-User-*'],
    ],
  },
  {
    by: 'Google Cloud: IAP, API Gateway, Endpoints',
    tells: 'the user and the claims of the token',
    names: ['X-Goog-Authenticated-User-*', 'X-Goog-IAP-*', 'X-Apigateway-Api-*', 'X-Endpoint-API-*'],
  },
  {
    by: 'AWS: load balancers, Verified Access, VPC Lattice',
    tells: 'the user with claims and tokens, or the certificate',
    names: ['X-Amzn-OIDC-*', 'X-Amzn-mTLS-*', 'X-Amzn-AVA-User-Context', 'X-Amzn-Lattice-*'],
  },
  {
    by: 'Azure App Service',
    tells: 'the user with claims and tokens',
    names: ['X-MS-Client-Principal*', 'X-MS-Token-*'],
  },
  {
    by: 'Cloudflare',
    tells: 'the user of Access, or the certificate',
    names: ['CF-Access-Authenticated-User-*', 'CF-Access-JWT-Assertion', 'CF-Client-Cert-*'],
  },
  {
    by: 'SiteMinder, WebSEAL, Oracle Access Manager, ClearTrust',
    tells: 'the user, groups and session',
    names: [
      ...['SM_*', 'IV-User', 'IV-User-L', 'IV-Groups', 'IV-Creds', 'IV-Remote-Address'],
      ...['IV-Remote-Address-IPv6', 'IV_Server_Name', 'OAM_Remote_User', 'OAM_Identity_Domain'],
      'CT-Remote-User',
    ],
  },
  {
    by: 'Shibboleth and mod_auth_openidc of Apache',
    tells: 'session, provider and attributes of the user',
    names: ['Shib-*', 'OIDC_*'],
  },
  {
    by: 'WSO2, MuleSoft',
    tells: 'the claims of the token',
    names: ['X-JWT-Assertion', 'X-AGW-*'],
  },
  {
    by: 'Istio, Linkerd, Dapr, SPIFFE',
    tells: 'the service that calls, or the claims of the token',
    names: ['Sec-Istio-Auth-UserInfo', 'X-Istio-Attributes', 'L5d-Client-Id', 'Dapr-Caller-*', 'X-SPIFFE-ID'],
  },
  {
    by: 'Grafana, Gitea and others behind a proxy; what Grafana tells data sources',
    tells: 'the user',
    names: ['X-WEBAUTH-*', 'X-Grafana-User', 'X-Grafana-Id'],
  },
  {
    by: 'OpenSearch, CouchDB, Kubeflow, Argo CD behind a proxy',
    tells: 'the user, roles and groups',
    names: [
      ...['X-Proxy-User', 'X-Proxy-Roles', 'X-Proxy-Ext-*', 'X-Auth-CouchDB-*', 'Kubeflow-UserId'],
      ...['Kubeflow-Groups', 'Argocd-Username', 'Argocd-User-*'],
    ],
  },
  {
    // RFC 9440 and the older names for the same. WebSphere's plug-in has its own, such as $WSRU.
    by: 'proxies that ask for certificates: nginx, HAProxy, Envoy, Traefik, Apache, WebSphere',
    tells: "the client's certificate, and that it was checked",
    names: [
      ...['Client-Cert', 'Client-Cert-Chain', 'SSL-Client-*', 'X-SSL', 'X-SSL-*', 'X-TLS-Client-*'],
      ...['X-Client-Cert*', 'X-Client-DN', 'X-Client-Verify', 'X-Forwarded-Client-Cert'],
      ...['X-Forwarded-TLS-Client-Cert*', '$WS*'],
    ],
  },
];

export function namesOf(lists: readonly ReservedFields[]): readonly string[] {
  return lists.flatMap(({ names }) => names);
}
