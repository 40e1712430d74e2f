import type { Path } from '../file/index.ts';

/**
 * What to write instead of the keys that users of nginx, Envoy, Kong and Traefik tend to write, and the sections where the advice
 * applies: `top` is the top of gateway.yaml, `limits` that of limits.yaml.
 */
const ADVICE: readonly (readonly [words: string, sections: string, advice: string])[] = [
  ['services backends clusters', 'top', 'write "upstreams"'],
  ['service backend cluster proxy_pass', 'routes defaults', 'name the upstream: "upstream"'],
  ['location prefix match', 'routes', 'write path: /v1/things, with /** at its end for everything below'],
  [
    'servers targets endpoints',
    'upstreams',
    'list the addresses under "urls": ["http://10.0.0.1:3000", "http://10.0.0.2:3000"]',
  ],
  ['host', 'listen', 'host and port are one value: http: 0.0.0.0:8080'],
  ['port', 'listen upstreams', 'host and port are one value, such as 127.0.0.1:3000'],
  ['rewrite strip_path', 'routes defaults', 'write strip_prefix: /api'],
  [
    'plugins middlewares',
    'top routes defaults upstreams',
    'plug-ins are not there yet, see docs/configuration.md#not-there-yet',
  ],
  ['limits rate_limits', 'limits', 'write "buckets"'],
  [
    'limit limits rate_limit rate_limits',
    'top routes defaults',
    'limits stand in limits.yaml: a bucket such as { user: 20/5s }, and a line of "routes" that names it',
  ],
  ['limit rate_limit', 'buckets', 'write a quota for user, bot or address, such as user: 20/5s'],
  ['burst', 'buckets', 'write "algorithm: smooth", which takes the whole number at once and refills evenly'],
  [
    'headers add_header',
    'routes defaults upstreams',
    'write request_headers: { set: { X-Plan: gold }, remove: [X-Debug] }, or response_headers, on routes',
  ],
  [
    'read_timeout connect_timeout proxy_read_timeout',
    'routes defaults upstreams',
    'write timeouts: { connect: 5s, first_byte: 60s, idle: 60s }',
  ],
  [
    'retries retry',
    'routes defaults upstreams',
    'leave it out: docs/upstreams.md#when-an-endpoint-fails says what is sent again, and when an address is left out',
  ],
  ['health_check health_checks', 'upstreams', 'write health: { path: /healthz }'],
  [
    'load_balancing lb_policy',
    'upstreams',
    'write balance: least_requests, or balance: caller for the same address for each caller',
  ],
  ['websockets', 'routes defaults', 'write websocket: true'],
  ['insecure_skip_verify', 'tls', 'write ca_file with the certificate of its authority, or verify: false'],
  [
    'cache gzip compression',
    'top routes defaults upstreams',
    'caches and compression are left to others, see docs/configuration.md#what-weir-leaves-to-others',
  ],
  [
    'whitelist allowlist',
    'top routes defaults limits',
    'write networks: { allow: [10.0.0.0/8] } on a route, or "never_restrict" in limits.yaml',
  ],
  [
    'auth jwt',
    'top routes defaults',
    'write "identity_provider" and "access_tokens", and "authentication" on a route',
  ],
];

/** The rules for restrictions. Unlike limits, they have no `shadow`. */
const RESTRICTING: readonly unknown[] = ['invalid_requests', 'webhook_not_found', 'ignored_refusals'];

const NO_SHADOW =
  'a restriction cannot be tried in shadow, since it follows from what a client does once it was told to stop: write a high "limit" first, or replay a log with "weir simulate"';

/**
 * Returns what to write instead of a key that other gateways have, or that has no meaning here; `undefined` if the word is unknown
 * at this place.
 *
 * @param known the existing keys
 */
export function otherWord(key: string, path: Path, known: readonly string[]): string | undefined {
  if (key === 'shadow' && RESTRICTING.includes(path[0])) return NO_SHADOW;
  const section = sectionAt(path, known);
  return ADVICE.find(
    ([words, sections]) => words.split(' ').includes(key) && sections.split(' ').includes(section),
  )?.[2];
}

function sectionAt([section, , nested]: Path, known: readonly string[]): string {
  if (section === undefined) return known.includes('buckets') ? 'limits' : 'top';
  if (nested !== undefined) return section === 'upstreams' && nested === 'tls' ? 'tls' : '';
  return String(section);
}
