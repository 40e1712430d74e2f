// Header fields that servers and frameworks believe unchecked, grouped by what they claim. A trailing `*` matches any
// characters. docs/contract.md, 6.4 lists them for users; a test keeps the two lists equal.

/** Make a backend act on a different method or path than the one that was routed and limited. */
export const OVERRIDES: readonly string[] = [
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-method',
  'http-method-override',
  'x-original-url',
  'x-rewrite-url',
  'x-override-url',
];

/** Claim where a request came from, which host, scheme or path it was sent to, or what a proxy arranged. */
export const ORIGIN_CLAIMS: readonly string[] = [
  ...['forwarded', 'forwarded-*', 'x-forwarded', 'x-forwarded-*', 'x-forward-for', 'x-forwarder-for'],
  ...['x-forward-proto', 'x-forward-host', 'x-client-real-ip', 'x-real-host', 'remote-host'],
  ...['x-original-forwarded-for', 'x-originally-forwarded-for', 'x-real-ip', 'client-ip', 'x-client-ip'],
  ...['true-client-ip', 'x-true-client-ip', 'cluster-client-ip', 'x-cluster-client-ip', 'remote-addr'],
  ...['x-remote-ip', 'x-remote-addr', 'x-remote-host', 'x-original-remote-addr', 'x-originating-ip'],
  ...['x-proxyuser-ip', 'proxy-client-ip', 'wl-proxy-*', 'x-custom-ip-authorization'],
  // Java code looks up CGI variables as if they were header fields.
  ...['http-client-ip', 'http-forwarded', 'http-forwarded-*', 'http-x-*'],
  // Set by CDNs and clouds. Envoy even obeys some: timeouts, retries, another destination.
  ...['ali-cdn-real-ip', 'cdn-src-ip', 'cf-connecting-*', 'cf-ipcountry', 'cf-pseudo-ipv4', 'cf-visitor'],
  ...[
    'cloudfront-*',
    'do-connecting-ip',
    'fastly-client-ip',
    'fastly-ssl',
    'fly-client-ip',
    'incap-client-ip',
  ],
  ...['x-appengine-*', 'x-arr-*', 'x-azure-*', 'x-envoy-*', 'x-nf-client-connection-ip', 'x-sucuri-clientip'],
  ...['x-vercel-forwarded-for', 'x-vercel-ip-*'],
  // The original host, scheme and method.
  ...['x-host', 'x-host-override', 'x-http-host-override', 'x-original-host', 'x-original-method'],
  ...['front-end-https', 'x-original-proto', 'x-original-scheme', 'x-scheme', 'x-url-scheme'],
  // The original path. gunicorn strips SCRIPT_NAME from the front of the path (benoitc/gunicorn#2650).
  ...['script-name', 'x-script-name', 'x-original-uri'],
  // CGI turns `Proxy` into HTTP_PROXY, which programs use as their outgoing proxy (httpoxy, CVE-2016-5385). The others make
  // Rack and Symfony tell the server in front which files to send.
  ...['proxy', 'x-accel-mapping', 'x-sendfile-type'],
];

/** Claim who sent the request: the user that a proxy authenticated, or the client's certificate. */
export const CALLER_CLAIMS: readonly string[] = [
  ...['remote-user', 'remote-name', 'remote-email', 'remote-groups'],
  ...['x-remote-user', 'x-remote-uid', 'x-remote-group', 'x-remote-groups', 'x-remote-extra-*'],
  ...['x-auth-user', 'x-auth-request-*', 'x-authentik-*', 'x-pomerium-*', 'x-webauth-*', 'tailscale-user-*'],
  ...['cf-access-authenticated-user-email'],
  ...['x-amzn-mtls-*', 'x-amzn-oidc-*', 'x-goog-authenticated-user-*', 'x-ms-client-principal*'],
  // RFC 9440 and the older names for the same. WebSphere's plug-in has its own, such as $WSRU.
  ...['client-cert', 'client-cert-chain', 'ssl-client-*', 'x-ssl-client-*', 'x-client-cert*', '$ws*'],
  ...['x-client-dn', 'x-client-verify'],
];
