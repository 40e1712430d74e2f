import type { Path } from '../file/index.ts';
import { policyOtherWords, settingOtherWords } from '../policies/index.ts';

// Words of other gateways for a key that has another name here, or that is not there yet. Delete a word when its key is added.
// Words for policies of routes and settings of upstreams are defined there.

/** Where the docs list what is missing, and what to do meanwhile. */
const NOT_THERE_YET = 'not there yet, see docs/configuration.md#not-there-yet';

/** Where the docs say what will not be added, and where it belongs instead. */
const OTHERS = 'left to others, see docs/configuration.md#what-weir-leaves-to-others';

type Words = Readonly<Record<string, string>>;

const yet = (what: string, ...words: readonly string[]): Words =>
  Object.fromEntries(words.map(word => [word, `${what} ${NOT_THERE_YET}`]));
const here = (how: string, ...words: readonly string[]): Words =>
  Object.fromEntries(words.map(word => [word, how]));

const LEFT_TO_OTHERS: Words = {
  ...here(`caches are ${OTHERS}`, 'cache', 'caching', 'proxy_cache', 'http_cache'),
  ...here(
    `compression is ${OTHERS}`,
    'compress',
    'compression',
    'compressor',
    'gzip',
    'brotli',
    'zstd',
    'encode',
  ),
  ...here(
    `changes of bodies are ${OTHERS}`,
    'sub_filter',
    'replace_response',
    'transform',
    'transformer',
    'lua',
  ),
  ...here(`regular expressions are ${OTHERS}`, 'regex', 'regexp', 'path_regex', 'path_regexp', 'safe_regex'),
  ...here(
    `lists of services are ${OTHERS}`,
    ...['discovery', 'service_discovery', 'discovery_type', 'consul', 'etcd', 'eureka', 'zookeeper', 'nacos'],
  ),
};

const LIMITS = 'limits of routes belong in limits.yaml: a line of its "routes" names a bucket';
const PATH = 'write path: /v1/things, with /** at its end for everything below';

const OF_ROUTE: Words = {
  ...LEFT_TO_OTHERS,
  ...policyOtherWords,
  ...here(
    'write hosts: [api.example.com, "*.example.com"]',
    'host',
    'hostname',
    'hostnames',
    'domain',
    'domains',
    'server_name',
  ),
  ...yet('plug-ins are', 'plugins', 'plugin', 'middlewares', 'middleware', 'filters', 'handlers', 'policies'),
  ...yet('routes by query are', 'query', 'queries', 'query_params'),
  ...here(
    'write respond: { status: 200, body: "ok" }, or redirect: { to: "https://new.example.com/" }',
    ...['response', 'return', 'rewrite_to', 'redirect_to', 'fixed_response'],
  ),
  ...yet('files are', 'static', 'root'),
  ...here(
    'shares of callers stand next to the names of upstreams: upstream: { api: 95, api-next: 5 }',
    ...['canary', 'weight', 'weighted_clusters', 'split'],
  ),
  ...yet(
    'lists of addresses for a route are',
    'allow',
    'deny',
    'ip_allow',
    'ip_deny',
    'allowed_ips',
    'whitelist',
  ),
  ...yet('retries by rule and mirrors are', 'retries', 'retry', 'mirror', 'backends', 'upstreams'),
  ...here(
    'name the upstream: "upstream"',
    'backend',
    'service',
    'target',
    'proxy_pass',
    'destination',
    'cluster',
  ),
  ...here(PATH, 'prefix', 'path_prefix', 'match', 'matches', 'uri', 'uris', 'location', 'pattern', 'rule'),
  ...here(
    LIMITS,
    'limit',
    'limits',
    'rate_limit',
    'ratelimit',
    'rate_limits',
    'bucket',
    'buckets',
    'quota',
    'rate',
  ),
};

const OF_UPSTREAM: Words = {
  ...LEFT_TO_OTHERS,
  ...settingOtherWords,
  ...here(
    'list the addresses under "urls": ["http://10.0.0.1:3000", "http://10.0.0.2:3000"]',
    ...['servers', 'targets', 'nodes', 'endpoints', 'hosts', 'addresses'],
  ),
  ...here(
    'a weight stands next to its address: urls: [{ url: "http://10.0.0.1:3000", weight: 2 }]',
    'weight',
  ),
  ...here(
    'an address that fails is left out for a while and what is safe to repeat goes elsewhere, without a key for it',
    'circuit_breaker',
    'retries',
  ),
  ...here(
    'the path stands in "url": http://127.0.0.1:3000/base',
    'path',
    'base',
    'base_path',
    'prefix',
    'root',
  ),
  ...here(
    'host and port stand in "url": http://127.0.0.1:3000',
    'port',
    'address',
    'hostname',
    'ip',
    'scheme',
  ),
};

const OF_GATEWAY: Words = {
  ...LEFT_TO_OTHERS,
  ...yet('plug-ins are', 'plugins', 'plugin', 'middlewares', 'middleware', 'filters', 'policies'),
  ...here('write "upstreams"', 'services', 'backends', 'clusters'),
  ...here(
    'limits stand in a file of their own, which "limits" names',
    'rate_limit',
    'ratelimit',
    'rate_limits',
    'limit',
  ),
  ...here(
    'write "identity_provider" and "access_tokens"',
    'jwt',
    'oidc',
    'oauth',
    'oauth2',
    'authentication',
    'auth',
  ),
};

const OF_LISTEN: Words = here('write http: 0.0.0.0:8080', 'port', 'host', 'address', 'bind');

const OF_LIMITS: Words = {
  ...here('write "buckets"', 'limits', 'rate_limits', 'quotas'),
  ...here('write "global"', 'default', 'defaults'),
  ...here(
    'write "never_restrict", which spares from restrictions alone',
    'whitelist',
    'allowlist',
    'allow',
    'exempt',
  ),
  ...here('write blocked: { addresses: [192.0.2.7] }', 'blacklist', 'blocklist', 'denylist', 'deny'),
};

/** The rules that restrict. */
const RESTRICTING: readonly string[] = ['invalid_requests', 'webhook_not_found', 'ignored_refusals'];

const OF_RULE: Words = here(
  'only limits can be tried in shadow: a restriction follows from what a client does after it was told to stop, so write a high limit first',
  'shadow',
);

const OF_BUCKET: Words = {
  ...here(
    'write a quota for user, bot or address, such as user: 20/5s',
    'limit',
    'quota',
    'rate',
    'requests',
  ),
  ...here('write "address"', 'ip', 'anonymous', 'client', 'addresses'),
  ...here('write classes: { partner: 100/1m }', 'class', 'tier', 'tiers', 'plan', 'plans'),
  ...here('write group: { claim: organization, limit: 500/1m }', 'groups', 'tenant', 'organization'),
  ...here('write "algorithm: smooth", which takes the whole number at once and refills evenly', 'burst'),
  ...here('write user: 20/5s', 'period', 'window', 'per', 'interval'),
  ...yet('keys of your choice are', 'key', 'by', 'keys'),
};

/** Returns what another gateway's word for a key is called here; `undefined` if the word is unknown at this place. */
export function otherWord(key: string, path: Path, isLimits: boolean): string | undefined {
  const words = wordsAt(path, isLimits);
  return Object.hasOwn(words, key) ? words[key] : undefined;
}

function wordsAt([section, entry, ...more]: Path, isLimits: boolean): Words {
  if (more.length > 0) return {};
  if (isLimits && section === undefined) return OF_LIMITS;
  if (isLimits && entry === undefined) return RESTRICTING.includes(String(section)) ? OF_RULE : {};
  if (isLimits) return section === 'buckets' ? OF_BUCKET : {};
  if (section === undefined) return OF_GATEWAY;
  if (section === 'listen') return OF_LISTEN;
  if (section === 'upstreams' && entry !== undefined) return OF_UPSTREAM;
  return section === 'routes' && entry !== undefined ? OF_ROUTE : {};
}
