import { CALLER_CLAIMS, ORIGIN_CLAIMS, OVERRIDES } from './guarded-names.ts';
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
  /** Says who sent it: forwarded only from a trusted proxy. The gateway's own way to say so is `identity_headers`. */
  | 'caller'
  /** Would be one of these two, but the operator lets anyone send it. */
  | 'keep';

/** Fields that end at this hop (RFC 9110, 7.6.1) besides those below, and the one that asks for an upgrade to HTTP/2. */
const HOP_BY_HOP = [
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'trailer',
  'upgrade',
  'http2-settings',
];

/** The listener reads these and hands on what they mean; the gateway writes its own. */
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

/** Header field names, in any letter case. */
export interface ForwardingOptions {
  /** Further fields that only trusted proxies may send. */
  readonly remove?: readonly string[];
  /** Guarded fields that anyone may send because an application owns them. No effect on fields the gateway writes or drops. */
  readonly keep?: readonly string[];
  /** Fields that only the gateway writes: a client's are dropped. */
  readonly own?: readonly string[];
  /** The gateway takes part in traces. Otherwise their fields are like any other. */
  readonly traces?: boolean;
}

/** Which request fields the gateway reads, drops or believes; compiled once per configuration. */
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
