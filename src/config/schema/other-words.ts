import type { Path } from '../file/index.ts';

/** Advice for the words that people bring along from other gateways. */
type Words = Readonly<Record<string, string>>;

const NOT_THERE_YET = 'not there yet, see docs/configuration.md#not-there-yet';
const OTHERS = 'left to others, see docs/configuration.md#what-weir-leaves-to-others';

const BUFFERING = 'responses stream; for request bodies write buffer_body: 1MiB on the upstream';
const TIMEOUTS = 'write timeouts: { connect: 5s, first_byte: 60s, idle: 60s }';
const HOST_SENT = 'which Host a service gets is said by "host" of the upstream: client, upstream or a name';

const OF_ALL: Words = {
  'plugins plugin middlewares middleware filters policies': `plug-ins are ${NOT_THERE_YET}`,
  'cache caching compression compress gzip': `caches and compression are ${OTHERS}`,
};

const OF_ROUTE: Words = {
  'host hostname domain domains server_name': 'write hosts: [api.example.com, "*.example.com"]',
  'prefix match location uri': 'write path: /v1/things, with /** at its end for everything below',
  'service backend target cluster proxy_pass': 'name the upstream: "upstream"',
  'limit limits rate_limit rate_limits bucket quota':
    'limits of routes belong in limits.yaml: a line of its "routes" names a bucket',
  'scope scopes roles role': 'write require: { scopes: [orders.read], roles: [clerk] }',
  'strip_path rewrite': 'write strip_prefix: /api',
  add_prefix: 'a path in front of all others stands in the "url" of the upstream',
  'websockets ws': 'write websocket: true',
  'sse streaming': 'leave it out: responses stream as they come',
  'regex regexp': `regular expressions are ${OTHERS}`,
  'root static try_files alias': 'files are served by a service: Weir has none of its own',
  'priority order': 'leave it out: the most specific path wins',
  'allow deny ip_whitelist ip_allowlist whitelist': 'write networks: { allow: [10.0.0.0/8] }',
  'basic_auth auth_basic':
    'passwords are for the provider, or the service: callers without a provider get "api_keys"',
  'buffering proxy_buffering': BUFFERING,
  'read_timeout connect_timeout send_timeout proxy_read_timeout': TIMEOUTS,
  'host_header pass_host_header preserve_host preserve_host_header': HOST_SENT,
  'headers add_header add_headers':
    'write request_headers: { set: { X-Plan: gold }, remove: [X-Debug] }, or response_headers',
  'weight split':
    'shares of callers stand next to the names of upstreams: upstream: { api: 95, api-next: 5 }',
};

const OF_UPSTREAM: Words = {
  'servers targets nodes endpoints hosts addresses':
    'list the addresses under "urls": ["http://10.0.0.1:3000", "http://10.0.0.2:3000"]',
  'port address scheme': 'host and port stand in "url": http://127.0.0.1:3000',
  path: 'the path stands in "url": http://127.0.0.1:3000/base',
  weight: 'a weight stands next to its address: urls: [{ url: "http://10.0.0.1:3000", weight: 2 }]',
  'health_check health_checks': 'write health: { path: /healthz }',
  'lb lb_policy load_balancing':
    'write balance: least_requests, or balance: caller for the same address for each caller, or balance: { cookie: weir_node } for each browser',
  'sticky sticky_sessions session_affinity affinity ip_hash':
    'write balance: { cookie: weir_node }, or balance: caller',
  'retries retry max_fails fail_timeout max_retries':
    'leave it out: docs/upstreams.md#when-an-endpoint-fails says what is sent again, and when an address is left out',
  'headers set_headers': 'fields are set on routes, or for all of them under "defaults": request_headers',
  'buffering proxy_buffering': BUFFERING,
  'read_timeout connect_timeout send_timeout proxy_read_timeout': TIMEOUTS,
  'host_header pass_host_header preserve_host preserve_host_header': HOST_SENT,
};

const OF_UPSTREAM_TLS: Words = {
  'insecure insecure_skip_verify skip_verify tls_insecure_skip_verify reject_unauthorized':
    'write ca_file with the certificate of its authority, or verify: false',
  'sni servername': 'write server_name',
  'ca cafile root_ca': 'write ca_file',
};

const OF_GATEWAY: Words = {
  'services backends clusters': 'write "upstreams"',
  'rate_limit rate_limits': 'limits stand in a file of their own, which "limits" names',
  'auth authentication jwt oidc oauth2': 'write "identity_provider" and "access_tokens"',
};

const OF_LIMITS: Words = {
  'limits rate_limits quotas': 'write "buckets"',
  'whitelist allowlist': 'write "never_restrict", which spares from restrictions alone',
  'blacklist blocklist denylist': 'write blocked: { addresses: [192.0.2.7] }',
};

const RESTRICTING: readonly string[] = ['invalid_requests', 'webhook_not_found', 'ignored_refusals'];

const OF_RULE: Words = {
  shadow:
    'only limits can be tried in shadow: a restriction follows from what a client does after it was told to stop, so write a high limit first',
};

const OF_BUCKET: Words = {
  'limit quota rate requests period window': 'write a quota for user, bot or address, such as user: 20/5s',
  ip: 'write "address"',
  burst: 'write "algorithm: smooth", which takes the whole number at once and refills evenly',
  'key keys by': `keys of your choice are ${NOT_THERE_YET}`,
};

/** Returns what another gateway's word for a key is called here; `undefined` if the word is unknown at this place. */
export function otherWord(key: string, path: Path, isLimits: boolean): string | undefined {
  const advice = Object.entries(wordsAt(path, isLimits));
  return advice.find(([words]) => words.split(' ').includes(key))?.[1];
}

function wordsAt([section, entry, ...more]: Path, isLimits: boolean): Words {
  if (section === 'upstreams' && more.length === 1 && more[0] === 'tls') return OF_UPSTREAM_TLS;
  if (more.length > 0) return {};
  if (isLimits && section === undefined) return OF_LIMITS;
  if (isLimits && entry === undefined) return RESTRICTING.includes(String(section)) ? OF_RULE : {};
  if (isLimits) return section === 'buckets' ? OF_BUCKET : {};
  if (section === undefined) return { ...OF_ALL, ...OF_GATEWAY };
  if (section === 'listen') return { 'port host address': 'write http: 0.0.0.0:8080' };
  if (entry === undefined) return {};
  if (section === 'upstreams') return OF_UPSTREAM;
  return section === 'routes' ? { ...OF_ALL, ...OF_ROUTE } : {};
}
