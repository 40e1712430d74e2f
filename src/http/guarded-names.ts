// Header fields that servers and frameworks believe without a question, by what they say. A trailing `*` stands for any further
// characters. docs/contract.md, 6.4 lists them for users; a test holds the two together.

/** Fields by which a backend would act on another method or path than the one that was routed and limited. */
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

/** Fields that say where a request came from, which host, scheme or path it was sent to, and what a proxy arranged. */
export const ORIGIN_CLAIMS: readonly string[] = [
  ...['forwarded', 'forwarded-*', 'x-forwarded', 'x-forwarded-*', 'x-forward-for', 'x-forwarder-for'],
  ...['x-forward-proto', 'x-forward-host', 'x-client-real-ip', 'x-real-host', 'remote-host'],
  ...['x-original-forwarded-for', 'x-originally-forwarded-for', 'x-real-ip', 'client-ip', 'x-client-ip'],
  ...['true-client-ip', 'x-true-client-ip', 'cluster-client-ip', 'x-cluster-client-ip', 'remote-addr'],
  ...['x-remote-ip', 'x-remote-addr', 'x-remote-host', 'x-original-remote-addr', 'x-originating-ip'],
  ...['x-proxyuser-ip', 'proxy-client-ip', 'wl-proxy-*', 'x-custom-ip-authorization'],
  // Java code asks for the variables of CGI as if they were fields.
  ...['http-client-ip', 'http-forwarded', 'http-forwarded-*', 'http-x-*'],
  // Of networks and clouds in front. Envoy also takes orders by such fields: timeouts, retries, another destination.
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
  // Host, scheme and method as they were.
  ...['x-host', 'x-host-override', 'x-http-host-override', 'x-original-host', 'x-original-method'],
  ...['front-end-https', 'x-original-proto', 'x-original-scheme', 'x-scheme', 'x-url-scheme'],
  // Of the path. gunicorn takes SCRIPT_NAME off its beginning (benoitc/gunicorn#2650).
  ...['script-name', 'x-script-name', 'x-original-uri'],
  // `Proxy` becomes HTTP_PROXY, by which programs behind CGI choose their own proxy (httpoxy, CVE-2016-5385); by the others Rack
  // and Symfony let the server in front read files for them.
  ...['proxy', 'x-accel-mapping', 'x-sendfile-type'],
];

/** Fields by which a proxy in front says who sends: its user, or the client's certificate. */
export const CALLER_CLAIMS: readonly string[] = [
  ...['remote-user', 'remote-name', 'remote-email', 'remote-groups'],
  ...['x-remote-user', 'x-remote-uid', 'x-remote-group', 'x-remote-groups', 'x-remote-extra-*'],
  ...['x-auth-user', 'x-auth-request-*', 'x-authentik-*', 'x-pomerium-*', 'x-webauth-*', 'tailscale-user-*'],
  ...['cf-access-authenticated-user-email'],
  ...['x-amzn-mtls-*', 'x-amzn-oidc-*', 'x-goog-authenticated-user-*', 'x-ms-client-principal*'],
  // RFC 9440, and what servers called it before. WebSphere's plug-in has names of its own, $WSRU for one.
  ...['client-cert', 'client-cert-chain', 'ssl-client-*', 'x-ssl-client-*', 'x-client-cert*', '$ws*'],
  ...['x-client-dn', 'x-client-verify'],
];
