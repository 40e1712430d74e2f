import { allValues, type Fields, firstValue } from '../../core/index.ts';

/** Which origins may use the gateway from a browser, and how. https://fetch.spec.whatwg.org/#http-cors-protocol */
export interface CorsRules {
  /** The allowed origins as browsers write them; `null` for all. */
  readonly origins: ReadonlySet<string> | null;
  /** Request fields allowed in addition to the simple ones; `null` for those requested in the preflight. */
  readonly allowHeaders: readonly string[] | null;
  /** Fields that scripts may read in addition to those that the gateway and the service expose. */
  readonly exposeHeaders: readonly string[];
  readonly credentials: boolean;
  readonly maxAgeS: number;
  /** Whether responses carry `RateLimit` and `RateLimit-Policy` (docs/contract.md, 4.10). */
  readonly policies: boolean;
  /** Whether scripts may send proofs, and read the nonces for them (RFC 9449). */
  readonly proofs: boolean;
}

/** Fields that scripts may read in addition to the simple ones: everything about limits and tokens, and the request id. */
const EXPOSED = [
  ...[
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
    'X-RateLimit-Reset-After',
    'X-RateLimit-Bucket',
  ],
  ...['X-RateLimit-Scope', 'X-RateLimit-Global', 'Retry-After', 'X-Request-Id', 'Via', 'Date'],
  // Names the scopes that a token lacks, and where to get a token.
  'WWW-Authenticate',
].join(', ');
const EXPOSED_WITH_POLICIES = `${EXPOSED}, RateLimit, RateLimit-Policy`;
/** The fields of gRPC-Web with the end of a call. */
const EXPOSED_OF_CALLS = ', grpc-status, grpc-message, grpc-status-details-bin';
const SENT_WITH_CALLS = ['Content-Type', 'X-Grpc-Web', 'X-User-Agent', 'Grpc-Timeout'];

const NOTHING: Fields = [];
/** Keeps caches from serving one origin's response to another. */
const VARY: Fields = ['Vary', 'Origin'];

/** Matches field names (tokens, RFC 9110, 5.6.2) separated by commas and blanks. Nothing else is echoed. */
const FIELD_NAMES = /^[\w!#$%&'*+.^`|~, \t-]*$/;

/**
 * Returns the fields that let a script of this origin read a response; only `Vary` if there is no origin or it is not allowed.
 *
 * @param isOfCalls whether the route serves gRPC-Web
 * @param theirs the values of the service's `Access-Control-Expose-Headers`
 */
export function corsFields(
  rules: CorsRules,
  origin: string | undefined,
  isOfCalls = false,
  theirs: readonly string[] = [],
): Fields {
  const vary = rules.origins === null && !rules.credentials ? NOTHING : VARY;
  if (origin === undefined || !mayUse(rules, origin)) return vary;
  const exposed = rules.policies ? EXPOSED_WITH_POLICIES : EXPOSED;
  const all = isOfCalls ? exposed + EXPOSED_OF_CALLS : exposed;
  const exposedToo = appendNames(all, [
    ...(rules.proofs ? ['DPoP-Nonce'] : []),
    ...theirs,
    ...rules.exposeHeaders,
  ]);
  return [...originFields(rules, origin), 'Access-Control-Expose-Headers', all + exposedToo, ...vary];
}

/** Appends the names in these lists to a list, each once, ignoring letter case. Leaves out texts that are not field names. */
function appendNames(list: string, more: readonly string[]): string {
  if (more.length === 0) return '';
  const known = new Set(list.toLowerCase().split(', '));
  let added = '';
  for (const name of more.filter(text => FIELD_NAMES.test(text)).flatMap(text => text.split(','))) {
    const trimmed = name.trim();
    if (trimmed === '' || known.has(trimmed.toLowerCase())) continue;
    known.add(trimmed.toLowerCase());
    added += `, ${trimmed}`;
  }
  return added;
}

/**
 * Returns the method requested in a preflight; `null` unless an OPTIONS with these fields is a preflight, which names a method
 * and an origin. https://fetch.spec.whatwg.org/#cors-preflight-request
 */
export function askedMethod(fields: Fields): string | null {
  const origin = firstValue(fields, 'origin') ?? '';
  const method = firstValue(fields, 'access-control-request-method') ?? '';
  return origin === '' || method === '' ? null : method;
}

/**
 * Returns the fields that answer a preflight for this method, where `null` is a method that is not served. Only `Vary` if the
 * method is not served, the origin is not allowed, or the requested field names are not valid.
 *
 * @param isOfCalls whether the route serves gRPC-Web, whose clients send fields that operators need not list
 */
export function preflightFields(
  rules: CorsRules,
  fields: Fields,
  method: string | null,
  isOfCalls = false,
): Fields {
  const origin = firstValue(fields, 'origin') ?? '';
  const vary = ['Vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers'];
  const asked = firstValue(fields, 'access-control-request-headers') ?? '';
  if (method === null || !mayUse(rules, origin) || !FIELD_NAMES.test(asked)) return vary;
  const more = [...(isOfCalls ? SENT_WITH_CALLS : []), ...(rules.proofs ? ['DPoP'] : [])];
  const allowed = rules.allowHeaders?.concat(more).join(', ') ?? asked;
  return [
    ...originFields(rules, origin),
    'Access-Control-Allow-Methods',
    method,
    ...(allowed === '' ? [] : ['Access-Control-Allow-Headers', allowed]),
    'Access-Control-Max-Age',
    String(rules.maxAgeS),
    ...vary,
  ];
}

/**
 * Whether a page may open a WebSocket to this host: its origin has the same host, or may use the gateway. A request without an
 * origin does not come from a page.
 */
export function mayOpenWebSocket(rules: CorsRules, fields: Fields, host: string): boolean {
  return allValues(fields, 'origin').every(
    origin => mayUse(rules, origin) || hostOf(origin) === host.toLowerCase(),
  );
}

/** Returns `app.example:8080` for `https://app.example:8080`; origins are in lower case, and have no path. */
function hostOf(origin: string): string {
  return origin.slice(origin.indexOf('://') + 3);
}

function mayUse({ origins }: CorsRules, origin: string): boolean {
  return origins === null || origins.has(origin);
}

/** Names the origin itself if credentials are allowed, since the Fetch standard then forbids the wildcard. */
function originFields({ origins, credentials }: CorsRules, origin: string): string[] {
  const named = origins === null && !credentials ? '*' : origin;
  return [
    'Access-Control-Allow-Origin',
    named,
    ...(credentials ? ['Access-Control-Allow-Credentials', 'true'] : []),
  ];
}
