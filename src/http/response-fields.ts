import { type Fields, wholeSeconds } from '../core/index.ts';
import { connectionOptions, hopFieldNames } from '../http1/index.ts';
import { NameTable } from './name-table.ts';

/** What happens to a header field of an upstream's response. */
type ResponseRule = 'drop' | 'connection' | 'content-length' | 'trailer' | 'rate-limit' | 'policy' | 'cors';

const RULES = new NameTable<ResponseRule>([
  // Hop-by-hop (RFC 9110, 7.6.1). The gateway frames the response to the client itself.
  ['keep-alive', 'drop'],
  ['proxy-connection', 'drop'],
  ['proxy-authenticate', 'drop'],
  ['transfer-encoding', 'drop'],
  ['te', 'drop'],
  ['upgrade', 'drop'],
  // RFC 7540, 3.2.1: belongs to an upgrade to HTTP/2, and has no place in HTTP/2 itself.
  ['http2-settings', 'drop'],
  // The gateway writes its own on every response.
  ['x-request-id', 'drop'],
  ['x-ratelimit-*', 'rate-limit'],
  // The fields of draft-ietf-httpapi-ratelimit-headers, its earlier versions included.
  ['ratelimit', 'policy'],
  ['ratelimit-*', 'policy'],
  ['access-control-*', 'cors'],
  ['connection', 'connection'],
  ['content-length', 'content-length'],
  ['trailer', 'trailer'],
]);

/** Decides which fields of an upstream's response may pass. */
export interface ResponsePolicy {
  /**
   * A 204 or interim response must not have a `Content-Length` (RFC 9110, 8.6). If a server sends one anyway, a careless client
   * would read the next response as a body. A 205 has one of zero, whatever the server says (RFC 9110, 15.3.6).
   */
  readonly status: number;
  /** Whether the body goes out chunked. Only then can trailers follow and be announced. */
  readonly chunked: boolean;
  /** Whether the upstream's own `X-RateLimit-*` go to the client. */
  readonly rateLimits: boolean;
  /** Whether the upstream's own `RateLimit`, `RateLimit-Policy` and the like go to the client. */
  readonly policies: boolean;
  /** Whether the upstream handles CORS itself. */
  readonly cors: boolean;
}

/** Returns the fields of an upstream's response that go to the client, in a new array: the gateway appends its own. */
export function keepResponseFields(
  fields: Fields,
  { status, chunked, rateLimits, policies, cors }: ResponsePolicy,
): string[] {
  const kept: string[] = [];
  let named: Set<string> | null = null;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    const entry = RULES.find(name);
    const rule = entry?.value;
    const ownsSpellings = rule === 'rate-limit' || rule === 'policy';
    if (entry === undefined || (!ownsSpellings && !entry.spells(name))) kept.push(name, value);
    else if (rule === 'content-length') {
      if (status >= 200 && status !== 204 && status !== 205 && !chunked) kept.push(name, value);
    } else if (rule === 'rate-limit') {
      if (rateLimits) kept.push(name, value);
    } else if (rule === 'policy') {
      if (policies) kept.push(name, value);
    } else if (rule === 'cors') {
      if (cors) kept.push(name, value);
    } else if (rule === 'trailer') {
      if (chunked) kept.push(name, value);
    } else if (rule === 'connection') {
      for (const hopField of hopFieldNames(connectionOptions(value))) {
        named ??= new Set();
        named.add(hopField);
      }
    }
  }
  if (status === 205) kept.push('Content-Length', '0');
  return named === null ? kept : withoutNamed(kept, named);
}

/**
 * Fields that are not allowed in a trailer section because they frame, route or secure the message (RFC 9110, 6.5.1), or because
 * the gateway writes them itself: a client that merges trailers into the head would believe them.
 */
const NEVER_TRAILERS = new NameTable<true>(
  [
    ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
    'http2-settings',
    ...['content-encoding', 'content-length', 'content-range', 'content-type', 'host', 'location'],
    ...['age', 'cache-control', 'date', 'expires', 'retry-after', 'vary'],
    ...['authorization', 'proxy-authenticate', 'set-cookie', 'www-authenticate'],
    ...['access-control-*', 'via', 'x-request-id', 'x-ratelimit-*', 'ratelimit', 'ratelimit-*'],
  ].map(name => [name, true] as const),
);

/** Returns the fields of an upstream's trailer section that go to the client. */
export function keepTrailerFields(fields: Fields): Fields {
  return fields.length === 0 ? fields : withoutListed(fields, NEVER_TRAILERS);
}

/**
 * Fields that are dropped from the trailers of a gRPC call: those that concern one hop or that this gateway writes itself. Others
 * pass, since these trailers are metadata of their own and never merged into the head.
 */
const NEVER_CALL_TRAILERS = new NameTable<true>(
  [
    ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
    ...['http2-settings', 'content-length', 'via', 'x-request-id', 'x-ratelimit-*'],
    ...['ratelimit', 'ratelimit-*'],
  ].map(name => [name, true] as const),
);

/** Returns the fields of a gRPC call's trailers that go to the client. */
export function keepCallTrailers(fields: Fields): Fields {
  return withoutListed(fields, NEVER_CALL_TRAILERS);
}

function withoutListed(fields: Fields, listed: NameTable<true>): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    if (listed.get(name) === undefined) kept.push(name, fields[i + 1] as string);
  }
  return kept;
}

/**
 * Drops the fields that `Connection` names, but keeps `Content-Length`: naming it is not allowed (RFC 9110, 7.6.1), and without
 * it the client would read the next response as part of this body.
 */
function withoutNamed(fields: Fields, named: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    const lowerName = name.toLowerCase();
    if (lowerName === 'content-length' || !named.has(lowerName)) kept.push(name, fields[i + 1] as string);
  }
  return kept;
}

// The fields of draft-ietf-httpapi-ratelimit-headers-11, as Structured Fields (RFC 9651). Names of policies are made of letters,
// digits and "._-/", so a string needs no escapes.

/** Writes one quota policy, an item of `RateLimit-Policy` (section 3.1). */
export function policyItem(name: string, units: number, periodMs: number): string {
  return `"${name}";q=${units};w=${periodMs / 1_000}`;
}

/** What is left of a quota. */
interface ServiceLimit {
  /** The name of the quota's policy. */
  readonly name: string;
  readonly remaining: number;
  /** For how long the client can use no more than that, in milliseconds. */
  readonly windowMs: number;
  /** 32 hex digits that tell the parts of a partitioned quota apart; `null` if it is not partitioned. */
  readonly partition: string | null;
}

/** Writes the value of `RateLimit` (section 4.1). The window is at least a second: clients divide by it. */
export function serviceLimitItem({ name, remaining, windowMs, partition }: ServiceLimit): string {
  const item = `"${name}";r=${remaining};t=${wholeSeconds(windowMs)}`;
  return partition === null ? item : `${item};pk=:${Buffer.from(partition, 'hex').toString('base64')}:`;
}
