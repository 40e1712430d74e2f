import { NameTable } from './name-table.ts';

/** What becomes of a request's header field. */
export type FieldRule =
  /** Read by the gateway, and written anew where the upstream needs it. */
  | 'host'
  | 'connection'
  | 'content-length'
  | 'transfer-encoding'
  | 'expect'
  | 'authorization'
  | 'request-id'
  | 'forwarded-for'
  | 'forwarded-proto'
  | 'forwarded-host'
  /** Never forwarded. */
  | 'drop'
  /** Forwarded only when a trusted proxy sent it. */
  | 'trusted';

/** Fields that end at this hop (RFC 9110, 7.6.1) beside those above, and one that starts HTTP/2 by another way. */
const HOP_BY_HOP = [
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'upgrade',
  'http2-settings',
];

/** Fields by which a backend would act on another method or path than the one that was routed and limited. */
const OVERRIDES = [
  'x-http-method-override',
  'x-method-override',
  'x-http-method',
  'x-original-url',
  'x-rewrite-url',
];

/** Fields that backends believe about where a request came from. */
const ORIGIN_CLAIMS = [
  'forwarded',
  'x-forwarded-*',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'proxy',
];

const READ: readonly (readonly [string, FieldRule])[] = [
  ['host', 'host'],
  ['connection', 'connection'],
  ['content-length', 'content-length'],
  ['transfer-encoding', 'transfer-encoding'],
  ['expect', 'expect'],
  ['authorization', 'authorization'],
  ['x-request-id', 'request-id'],
  ['x-forwarded-for', 'forwarded-for'],
  ['x-forwarded-proto', 'forwarded-proto'],
  ['x-forwarded-host', 'forwarded-host'],
];

/** Which request fields the gateway reads, drops or believes; compiled once for a configuration. */
export class ForwardingRules {
  readonly table: NameTable<FieldRule>;

  /**
   * @param extraNames further fields that only trusted proxies may send (`forwarding_headers` in gateway.yaml)
   * @param ownNames fields that the gateway alone writes (`identity_headers`): a client's are dropped
   */
  constructor(extraNames: readonly string[], ownNames: readonly string[] = []) {
    this.table = new NameTable<FieldRule>([
      ...ORIGIN_CLAIMS.map(name => [name, 'trusted'] as const),
      ...extraNames.map(name => [name.toLowerCase(), 'trusted'] as const),
      ...HOP_BY_HOP.map(name => [name, 'drop'] as const),
      ...OVERRIDES.map(name => [name, 'drop'] as const),
      ...READ,
      ...ownNames.map(name => [name.toLowerCase(), 'drop'] as const),
    ]);
  }
}
