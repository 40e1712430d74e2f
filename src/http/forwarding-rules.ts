import { NameTable } from './name-table.ts';

/** What happens to a header field of a request. */
export type FieldRule =
  /** The gateway reads it and writes its own if the upstream needs one. */
  | 'host'
  | 'authorization'
  | 'te'
  | 'request-id'
  | 'forwarded-for'
  | 'forwarded-proto'
  | 'forwarded-host'
  | 'forwarded'
  | 'traceparent'
  | 'tracestate'
  /** Never forwarded. */
  | 'drop'
  /** Says where the request came from: forwarded only from a trusted proxy. */
  | 'origin'
  /** Says who sent the request: forwarded only from a trusted proxy. The gateway's own way to say so is `identity_headers`. */
  | 'caller'
  /** Reserved for trusted proxies by default, but the operator lets every client send it. */
  | 'keep';

/** Fields that end at this hop (RFC 9110, 7.6.1) besides those of FRAMING, and the one that asks for an upgrade to HTTP/2. */
const HOP_BY_HOP = [
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'trailer',
  'upgrade',
  'http2-settings',
];

/** Fields that the listener reads. It passes on what they mean, and the gateway writes its own. */
const FRAMING = ['connection', 'content-length', 'transfer-encoding', 'expect'];

const READ: readonly (readonly [string, FieldRule])[] = [
  ['host', 'host'],
  ['te', 'te'],
  ['authorization', 'authorization'],
  ['x-request-id', 'request-id'],
  ['x-forwarded-for', 'forwarded-for'],
  ['x-forwarded-proto', 'forwarded-proto'],
  ['x-forwarded-host', 'forwarded-host'],
];

const TRACE: readonly (readonly [string, FieldRule])[] = [
  ['traceparent', 'traceparent'],
  ['tracestate', 'tracestate'],
];

/** Names of header fields, in any letter case. */
interface ForwardingOptions {
  /** Further fields that only trusted proxies may send. */
  readonly remove?: readonly string[];
  /** Reserved fields that every client may send because an application owns them. No effect on fields that the gateway writes or drops. */
  readonly keep?: readonly string[];
  /** Fields that only the gateway writes: a client's are dropped. */
  readonly own?: readonly string[];
  /** True if the gateway takes part in traces. Otherwise their fields are like any other. */
  readonly traces?: boolean;
}

/** Says which request fields the gateway reads, drops or believes. Compiled once per configuration. */
export class ForwardingRules {
  readonly table: NameTable<FieldRule>;

  constructor({ remove = [], keep = [], own = [], traces = false }: ForwardingOptions = {}) {
    // The last entry wins: a field that the gateway writes or drops can be neither kept nor believed.
    this.table = new NameTable<FieldRule>([
      ...withRule(ORIGIN_CLAIMS, 'origin'),
      // An origin claim that is also read: an untrusted sender may be a proxy that the operator forgot to list.
      ['forwarded', 'forwarded'],
      ...withRule(CALLER_CLAIMS, 'caller'),
      ...withRule(remove, 'origin'),
      ...withRule(keep, 'keep'),
      ...withRule(HOP_BY_HOP, 'drop'),
      ...withRule(FRAMING, 'drop'),
      ...withRule(OVERRIDES, 'drop'),
      ...READ,
      ...(traces ? TRACE : []),
      ...withRule(own, 'drop'),
    ]);
  }
}

function withRule(names: readonly string[], rule: FieldRule): (readonly [string, FieldRule])[] {
  return names.map(name => [name.toLowerCase(), rule] as const);
}

// Header fields that servers and frameworks believe unchecked, grouped by what they claim. A trailing `*` matches any
// characters. docs/contract.md, 6.4 lists them for users; a test keeps the two lists equal.

/** Fields that make a backend act on another method or path than the one that was routed and limited. */
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

/** Fields that claim where a request came from, which host, scheme or path it was sent to, or what a proxy arranged. */
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

/** Fields that claim who sent the request: the user that a proxy authenticated, or the client's certificate. */
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
