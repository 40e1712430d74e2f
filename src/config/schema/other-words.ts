import type { Path } from '../file/index.ts';

/** What to write instead of the words that people from nginx, Envoy, Kong and Traefik write first. */
const ADVICE: readonly (readonly [words: string, advice: string])[] = [
  ['services backends clusters', 'write "upstreams"'],
  ['service backend cluster proxy_pass', 'name the upstream: "upstream"'],
  ['location prefix match', 'write path: /v1/things, with /** at its end for everything below'],
  [
    'servers targets endpoints',
    'list the addresses under "urls": ["http://10.0.0.1:3000", "http://10.0.0.2:3000"]',
  ],
  ['port', 'host and port are one value, such as 127.0.0.1:3000'],
  ['rewrite strip_path', 'write strip_prefix: /api'],
  ['plugins middlewares', 'plug-ins are not there yet, see docs/configuration.md#not-there-yet'],
  [
    'limit limits rate_limit rate_limits',
    'limits stand in limits.yaml: a bucket such as { user: 20/5s }, and a line of "routes" that names it',
  ],
  ['burst', 'write "algorithm: smooth", which takes the whole number at once and refills evenly'],
  [
    'headers add_header',
    'write request_headers: { set: { X-Plan: gold }, remove: [X-Debug] }, or response_headers, on routes',
  ],
  [
    'read_timeout connect_timeout proxy_read_timeout',
    'write timeouts: { connect: 5s, first_byte: 60s, idle: 60s }',
  ],
  [
    'retries retry',
    'leave it out: docs/upstreams.md#when-an-endpoint-fails says what is sent again, and when an address is left out',
  ],
  ['health_check health_checks', 'write health: { path: /healthz }'],
  [
    'load_balancing lb_policy',
    'write balance: least_requests, or balance: caller for the same address for each caller',
  ],
  ['websockets', 'write websocket: true'],
  ['insecure_skip_verify', 'write ca_file with the certificate of its authority, or verify: false'],
  [
    'cache gzip compression',
    'caches and compression are left to others, see docs/configuration.md#what-weir-leaves-to-others',
  ],
  [
    'whitelist allowlist',
    'write networks: { allow: [10.0.0.0/8] } on a route, or "never_restrict" in limits.yaml',
  ],
  ['auth jwt', 'write "identity_provider" and "access_tokens", and "authentication" on a route'],
];

/** Sections with keys that other gateways have as well: elsewhere the same word means something else. */
const SECTIONS: readonly unknown[] = ['listen', 'upstreams', 'routes', 'defaults', 'buckets'];

/** The rules that restrict: they know no `shadow`, which limits have. */
const RESTRICTING: readonly unknown[] = ['invalid_requests', 'webhook_not_found', 'ignored_refusals'];

const NO_SHADOW =
  'a restriction cannot be tried in shadow, since it follows from what a client does once it was told to stop: write a high "limit" first, or replay a log with "weir simulate"';

/**
 * Returns what to write instead of a key that other gateways have, or that has no meaning here; `undefined` if the word is unknown
 * at this place.
 */
export function otherWord(key: string, path: Path): string | undefined {
  const [section, , nested] = path;
  if (key === 'shadow' && RESTRICTING.includes(section)) return NO_SHADOW;
  if (section !== undefined && !SECTIONS.includes(section)) return undefined;
  if (nested !== undefined && nested !== 'tls') return undefined;
  return ADVICE.find(([words]) => words.split(' ').includes(key))?.[1];
}
