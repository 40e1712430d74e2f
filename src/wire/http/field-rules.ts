import { type Fields, wholeSeconds, withoutFields } from '../../core/index.ts';
import { connectionOptions, hopFieldNames } from '../http1/index.ts';
import { CALLER_CLAIMS, INTERNAL, namesOf, ORIGIN_CLAIMS, OVERRIDES } from './reserved-fields.ts';

/**
 * Looks header names up as the most careless backend would: ignoring letter case, and treating every character that is not a
 * letter or digit as a hyphen. CGI turns `-` into `_` (RFC 3875, 4.1.18), PHP dots as well, and lighttpd everything, so that
 * `X.Forwarded~For` and `X-Forwarded-For` become one variable.
 *
 * Most names in a request are in no table. Comparing three characters excludes most of them without a lower-case copy.
 */
export class NameTable<T> {
  /** For each slot, the index of its entries; 0 for most slots, which have none. */
  readonly #slots = new Uint16Array(SLOTS);
  readonly #entries: NameEntry<T>[][] = [[]];

  /**
   * @param entries names and their values; of two equal names the last wins. A trailing `*` matches any further characters. Full
   *   names precede prefixes, and longer prefixes precede shorter ones
   */
  constructor(entries: Iterable<readonly [string, T]>) {
    const byName = new Map<string, NameEntry<T>>();
    for (const [name, value] of entries) {
      const entry = new NameEntry(name, value);
      byName.set(`${foldName(entry.name)}${entry.isPrefix ? '*' : ''}`, entry);
    }
    for (const entry of [...byName.values()].sort(byPrecedence))
      for (const slot of slotsOf(entry)) this.#add(slot, entry);
  }

  #add(slot: number, entry: NameEntry<T>): void {
    const index = this.#slots[slot] || this.#entries.push([]) - 1;
    this.#slots[slot] = index;
    this.#entries[index]?.push(entry);
  }

  /** Returns the value of this name in any spelling, or undefined. */
  get(name: string): T | undefined {
    return this.find(name)?.value;
  }

  /** Returns the entry of this name in any spelling, or undefined. */
  find(name: string): NameEntry<T> | undefined {
    const index = this.#slots[slotOf(name)] as number;
    if (index === 0) return undefined;
    for (const entry of this.#entries[index] as readonly NameEntry<T>[]) if (entry.isFor(name)) return entry;
    return undefined;
  }
}

function byPrecedence(a: NameEntry<unknown>, b: NameEntry<unknown>): number {
  return Number(a.isPrefix) - Number(b.isPrefix) || (a.isPrefix ? b.name.length - a.name.length : 0);
}

/** One name of a table, or all names with a prefix. */
class NameEntry<T> {
  /** The name without the `*` of a prefix. */
  readonly name: string;
  readonly isPrefix: boolean;
  readonly value: T;
  readonly #separator: number;

  constructor(name: string, value: T) {
    this.isPrefix = name.endsWith('*');
    this.name = this.isPrefix ? name.slice(0, -1) : name;
    this.value = value;
    const last = this.name.charCodeAt(this.name.length - 1);
    this.#separator = FOLDED[last] === HYPHEN ? last : HYPHEN;
    if (this.isPrefix && this.name.length < SHORTEST_PREFIX)
      throw new Error(`"${name}" is too short for a prefix`);
  }

  /** Whether `name` is a spelling of this entry's name, or begins with one of its prefix. */
  isFor(name: string): boolean {
    const entered = this.name;
    if (this.isPrefix ? name.length < entered.length : name.length !== entered.length) return false;
    for (let i = 0; i < entered.length; i++) {
      if (FOLDED[entered.charCodeAt(i)] !== FOLDED[name.charCodeAt(i)]) return false;
    }
    return true;
  }

  /**
   * Whether a matching `name` is spelt like the entry, except for letter case. A prefix is followed by hyphens, or by the
   * character that it ends with: `OIDC_*` matches `OIDC_CLAIM_sub`.
   */
  spells(name: string): boolean {
    for (let i = 0; i < name.length; i++) {
      const code = name.charCodeAt(i);
      if (FOLDED[code] !== HYPHEN) continue;
      if (code !== (i < this.name.length ? this.name.charCodeAt(i) : this.#separator)) return false;
    }
    return true;
  }
}

/** Folds a name as careless servers do: to lower case, with a hyphen for each character that is not a letter or digit. */
export function foldName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '-');
}

const HYPHEN = 0x2d;
/** Shortest prefix, since each has a first and a third character. */
const SHORTEST_PREFIX = 3;
/** The index of the last character that `slotOf` reads. */
const LAST_READ = 5;
const SLOTS = 4_096;

/** Maps a character code to the code it is folded to. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, code) =>
  foldName(String.fromCharCode(code)).charCodeAt(0),
);

/** Maps a character code to the low five bits of its folded code, which distinguish letters. */
const LOW = FOLDED.map(code => code & 31);

/**
 * Returns the slot of a name, by its first, third and sixth character. Few names in requests share all three with a reserved one:
 * they distinguish `Sec-Fetch-Mode` from `Sec-Username`, and `X-Api-Key` from `X-AppEngine-*`.
 */
function slotOf(name: string): number {
  // Reading beyond the end would cost more than the rest: NaN is not an index.
  const sixth = name.length > LAST_READ ? LOW[name.charCodeAt(LAST_READ)] : 0;
  return slotBy(name, sixth ?? 0);
}

function slotBy(name: string, sixth: number): number {
  return ((LOW[name.charCodeAt(0)] ?? 0) << 7) ^ (sixth << 5) ^ (LOW[name.charCodeAt(2)] ?? 0);
}

/** Returns the slots of the names that an entry may match: a short prefix leaves their sixth character open. */
function slotsOf({ name, isPrefix }: NameEntry<unknown>): readonly number[] {
  if (!isPrefix || name.length > LAST_READ) return [slotOf(name)];
  return Array.from({ length: 32 }, (_, sixth) => slotBy(name, sixth));
}

/** Fields that the gateway reads. It writes its own if the upstream needs one. Each has a rule of its name. */
const READ = [
  ...(['host', 'te', 'authorization', 'x-request-id'] as const),
  ...(['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'] as const),
];
const TRACE = ['traceparent', 'tracestate'] as const;

/** How a request field is treated. */
export type FieldRule =
  | (typeof READ | typeof TRACE)[number]
  /** As those, but also an origin claim: an untrusted sender may be a proxy that the operator forgot to list. */
  | 'forwarded'
  /** Contains a client's certificate. Read and forwarded only from a trusted proxy. */
  | 'certificate'
  /** Contains an API key. Read from everyone; the gateway decides whether it is forwarded. */
  | 'api-key'
  /** Proves that the sender has the key of its token (RFC 9449). */
  | 'proof'
  /** Never forwarded. */
  | 'drop'
  /** Claims where the request came from: forwarded only from a trusted proxy. */
  | 'origin'
  /** Claims who sent the request: forwarded only from a trusted proxy. The gateway's own equivalent is `identity_headers`. */
  | 'caller'
  /** Internal to a service's framework: not forwarded, not even from a trusted proxy. */
  | 'internal'
  /** Reserved by default, but the operator lets every client send it. */
  | 'keep';

/** Fields that end at this hop (RFC 9110, 7.6.1) in addition to those of FRAMING, and the one for an upgrade to HTTP/2. */
const HOP_BY_HOP = [
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'trailer',
  'upgrade',
  'http2-settings',
];

/** Fields that the listener interprets. The gateway writes its own instead. */
const FRAMING = ['connection', 'content-length', 'transfer-encoding', 'expect'];

/** The fields that `keep` may exempt, with their rules. */
const KEEPABLE: readonly (readonly [string, FieldRule])[] = [
  ...withRule(namesOf(ORIGIN_CLAIMS), 'origin'),
  ['forwarded', 'forwarded'],
  ...withRule(namesOf(CALLER_CLAIMS), 'caller'),
  ...withRule(namesOf(INTERNAL), 'internal'),
];

/** Whether any field matching this name, which may end in `*`, is removed by default or by these names under `remove`. */
export function isKeepable(name: string, remove: readonly string[]): boolean {
  const reserved = [...KEEPABLE.map(([each]) => each), ...remove];
  return reserved.some(each => includesName(name, each) || includesName(each, name));
}

/** Whether all fields that match `name` also match `names`; both may end in `*`. */
export function includesName(names: string, name: string): boolean {
  if (!names.endsWith('*')) return foldName(names) === foldName(name) && !name.endsWith('*');
  const begin = foldName(names.slice(0, -1));
  return foldName(name.endsWith('*') ? name.slice(0, -1) : name).startsWith(begin);
}

/** Names of header fields, in any letter case. */
interface ForwardingOptions {
  /** Further fields that only trusted proxies may send, in this spelling; a trailing `*` matches any characters. */
  readonly remove?: readonly string[];
  /**
   * Reserved fields that every client may send because an application uses them; a trailing `*` matches any characters. No effect
   * on fields that the gateway writes or drops.
   */
  readonly keep?: readonly string[];
  /** Fields that only the gateway writes: a client's are dropped. */
  readonly own?: readonly string[];
  /** True if the gateway takes part in traces. Otherwise trace fields are like any other. */
  readonly traces?: boolean;
  /** The field in which trusted proxies report the certificates of their clients. */
  readonly certificate?: string | null;
  /** The field in which clients send API keys. */
  readonly apiKey?: string | null;
  /** True if tokens may be bound to a key. Otherwise `DPoP` is like any other field. */
  readonly proofs?: boolean;
}

/** The rules for which request fields the gateway reads, drops or trusts. Compiled once per configuration. */
export class ForwardingRules {
  readonly table: NameTable<FieldRule>;
  /**
   * Whether trusted proxies report the certificates of their clients. Then the certificate of a proxy's own connection is not a
   * client's.
   */
  readonly certificates: boolean;

  constructor({
    remove = [],
    keep = [],
    own = [],
    traces = false,
    certificate = null,
    apiKey = null,
    proofs = false,
  }: ForwardingOptions = {}) {
    this.certificates = certificate !== null;
    // The last entry wins: a field that the gateway writes or drops can be neither kept nor trusted.
    this.table = new NameTable<FieldRule>([
      ...KEEPABLE.filter(([reserved]) => !keep.some(kept => includesName(kept, reserved))),
      ...withRule(remove, 'origin'),
      ...withRule(keep, 'keep'),
      ...withRule(HOP_BY_HOP, 'drop'),
      ...withRule(FRAMING, 'drop'),
      ...withRule(namesOf(OVERRIDES), 'drop'),
      ...[...READ, ...(traces ? TRACE : [])].map(name => [name, name] as const),
      ...(proofs ? withRule(['dpop'], 'proof') : []),
      ...withRule(own, 'drop'),
      ...withRule(certificate === null ? [] : [certificate], 'certificate'),
      ...withRule(apiKey === null ? [] : [apiKey], 'api-key'),
    ]);
  }
}

/** Table entries for several names, in any letter case, with the same value. */
export function withRule<const Rule>(names: readonly string[], rule: Rule): (readonly [string, Rule])[] {
  return names.map(name => [name.toLowerCase(), rule] as const);
}

/** How a field of an upstream's response is treated. */
type ResponseRule =
  | ('drop' | 'connection' | 'content-length' | 'trailer' | 'rate-limit')
  | ('policy' | 'cors' | 'exposed');

const RULES = new NameTable<ResponseRule>([
  // Hop-by-hop (RFC 9110, 7.6.1). The gateway frames the response to the client itself.
  ...withRule(['keep-alive', 'proxy-connection', 'proxy-authenticate', 'transfer-encoding'], 'drop'),
  // RFC 7540, 3.2.1: the last belongs to an upgrade to HTTP/2, and is invalid in HTTP/2 itself.
  ...withRule(['te', 'upgrade', 'http2-settings'], 'drop'),
  // RFC 7838, 3: it names ports of the service itself, where clients would bypass the gateway.
  ['alt-svc', 'drop'],
  // The gateway writes its own on every response.
  ['x-request-id', 'drop'],
  ['x-ratelimit-*', 'rate-limit'],
  // The fields of draft-ietf-httpapi-ratelimit-headers, including its earlier versions.
  ['ratelimit', 'policy'],
  ['ratelimit-*', 'policy'],
  ['access-control-*', 'cors'],
  ['access-control-expose-headers', 'exposed'],
  ['connection', 'connection'],
  ['content-length', 'content-length'],
  ['trailer', 'trailer'],
]);

/** The settings for which fields of an upstream's response may pass. */
export interface ResponsePolicy {
  /**
   * A 204 or interim response must not have a `Content-Length` (RFC 9110, 8.6). If a server sends one anyway, a careless client
   * would read the next response as a body. A 205 gets one of zero, whatever the server says (RFC 9110, 15.3.6).
   */
  readonly status: number;
  /** Whether the body is sent in chunks. Only then can trailers follow and be announced. */
  readonly chunked: boolean;
  /** Whether the upstream's own `X-RateLimit-*` fields are forwarded. */
  readonly rateLimits: boolean;
  /** Whether the upstream's own `RateLimit`, `RateLimit-Policy` and the like are forwarded. */
  readonly policies: boolean;
  /** Whether the upstream handles CORS itself. */
  readonly cors: boolean;
}

/** Returns the forwarded fields of an upstream's response in a new array, to which the gateway appends its own. */
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
    } else if (rule === 'exposed') {
      // The gateway adds it to its own list. An interim response has no such list.
      if (cors || status >= 200) kept.push(name, value);
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
 * Fields that are not allowed in trailers because they frame, route or secure the message (RFC 9110, 6.5.1), or because the
 * gateway itself writes them: a client that merges trailers into the head would trust them.
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

/** Further fields of responses with a meaning for clients and caches. */
const MEANINGFUL = new NameTable<true>(
  [
    ...[
      'accept-*',
      'allow',
      'alt-svc',
      'content-*',
      'etag',
      'last-modified',
      'link',
      'server',
      'server-timing',
    ],
    ...['strict-transport-security', 'x-content-type-options', 'x-frame-options'],
  ].map(name => [name, true] as const),
);

/** Whether this field of a response means something to clients, caches or gateways. */
export function hasOwnMeaning(name: string): boolean {
  return [NEVER_TRAILERS, MEANINGFUL].some(table => table.get(name) !== undefined);
}

/** Returns the forwarded fields of an upstream's trailers. */
export function keepTrailerFields(fields: Fields): Fields {
  return fields.length === 0 ? fields : withoutFields(fields, name => NEVER_TRAILERS.get(name) !== undefined);
}

/**
 * Fields that are dropped from the trailers of a gRPC call: those for one hop, and those that the gateway itself writes. Others
 * pass, since these trailers are separate metadata and never merged into the head.
 */
const NEVER_CALL_TRAILERS = new NameTable<true>(
  [
    ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
    ...['http2-settings', 'content-length', 'via', 'x-request-id', 'x-ratelimit-*'],
    ...['ratelimit', 'ratelimit-*'],
  ].map(name => [name, true] as const),
);

/** Returns the forwarded fields of a gRPC call's trailers. */
export function keepCallTrailers(fields: Fields): Fields {
  return withoutFields(fields, name => NEVER_CALL_TRAILERS.get(name) !== undefined);
}

/**
 * Splits a trailers-only gRPC response. HTTP fields, such as cookies, belong in the head of a response whose trailers are
 * elsewhere.
 */
export function partTrailersOnly(fields: Fields): { readonly head: Fields; readonly trailers: Fields } {
  const head: string[] = [];
  const trailers: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    const part = NEVER_TRAILERS.get(name) === undefined ? trailers : head;
    part.push(name, fields[i + 1] as string);
  }
  return { head, trailers };
}

/**
 * Drops the fields that `Connection` names, except `Content-Length`: naming it is not allowed (RFC 9110, 7.6.1), and without it
 * the client would read the next response as part of this body.
 */
function withoutNamed(fields: Fields, named: ReadonlySet<string>): string[] {
  return withoutFields(fields, name => {
    const lowerName = name.toLowerCase();
    return lowerName !== 'content-length' && named.has(lowerName);
  });
}

// The fields of draft-ietf-httpapi-ratelimit-headers-11, as Structured Fields (RFC 9651). Policy names consist of letters, digits
// and "._-/", so strings need no escapes.

/** Writes one quota policy, an item of `RateLimit-Policy` (section 3.1). */
export function policyItem(name: string, units: number, periodMs: number): string {
  return `"${name}";q=${units};w=${periodMs / 1_000}`;
}

/** The remaining part of a quota. */
interface ServiceLimit {
  /** The name of the quota's policy. */
  readonly name: string;
  readonly remaining: number;
  /** For how long the client has no more than `remaining`, in milliseconds. */
  readonly windowMs: number;
  /** 32 hex digits that identify the part of a partitioned quota; `null` if it is not partitioned. */
  readonly partition: string | null;
}

/** Writes the value of `RateLimit` (section 4.1). The window is at least a second: clients divide by it. */
export function serviceLimitItem({ name, remaining, windowMs, partition }: ServiceLimit): string {
  const item = `"${name}";r=${remaining};t=${wholeSeconds(windowMs)}`;
  return partition === null ? item : `${item};pk=:${Buffer.from(partition, 'hex').toString('base64')}:`;
}
