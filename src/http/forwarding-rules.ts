import { CALLER_CLAIMS, ORIGIN_CLAIMS, OVERRIDES } from './guarded-names.ts';
import { NameTable } from './name-table.ts';

/** What becomes of a request's header field. */
export type FieldRule =
  /** Read by the gateway, and written anew where the upstream needs it. */
  | 'host'
  | 'connection'
  | 'authorization'
  | 'te'
  | 'request-id'
  | 'forwarded-for'
  | 'forwarded-proto'
  | 'forwarded-host'
  | 'forwarded'
  /** Never forwarded. */
  | 'drop'
  /** Forwarded only when a trusted proxy sent it: it says where the request came from. */
  | 'origin'
  /** The same: it says who sends, as `identity_headers` may do instead. */
  | 'caller'
  /** Would be one of the two, and is forwarded from anyone. */
  | 'keep';

/** Fields that end at this hop (RFC 9110, 7.6.1) beside those below, and one that starts HTTP/2 by another way. */
const HOP_BY_HOP = [
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'trailer',
  'upgrade',
  'http2-settings',
];

/** Read by the listener, which hands on what they mean, and written anew. */
const FRAMING = ['content-length', 'transfer-encoding', 'expect'];

const READ: readonly (readonly [string, FieldRule])[] = [
  ['host', 'host'],
  ['connection', 'connection'],
  ['te', 'te'],
  ['authorization', 'authorization'],
  ['x-request-id', 'request-id'],
  ['x-forwarded-for', 'forwarded-for'],
  ['x-forwarded-proto', 'forwarded-proto'],
  ['x-forwarded-host', 'forwarded-host'],
];

/** Names of header fields, in any letter case. */
export interface ForwardingOptions {
  /** Further ones that only trusted proxies may send. */
  readonly remove?: readonly string[];
  /** Ones of the lists that anyone may send: an application owns them. What the gateway writes or drops cannot be one. */
  readonly keep?: readonly string[];
  /** Ones that the gateway alone writes: a client's are dropped. */
  readonly own?: readonly string[];
}

/** Which request fields the gateway reads, drops or believes; compiled once for a configuration. */
export class ForwardingRules {
  readonly table: NameTable<FieldRule>;

  constructor({ remove = [], keep = [], own = [] }: ForwardingOptions = {}) {
    // The last one counts: what the gateway writes or drops can be neither kept nor believed.
    this.table = new NameTable<FieldRule>([
      ...withRule(ORIGIN_CLAIMS, 'origin'),
      // Like those, and looked at: who sends it without being trusted may be a proxy that should be.
      ['forwarded', 'forwarded'],
      ...withRule(CALLER_CLAIMS, 'caller'),
      ...withRule(remove, 'origin'),
      ...withRule(keep, 'keep'),
      ...withRule(HOP_BY_HOP, 'drop'),
      ...withRule(FRAMING, 'drop'),
      ...withRule(OVERRIDES, 'drop'),
      ...READ,
      ...withRule(own, 'drop'),
    ]);
  }
}

function withRule(names: readonly string[], rule: FieldRule): (readonly [string, FieldRule])[] {
  return names.map(name => [name.toLowerCase(), rule] as const);
}
