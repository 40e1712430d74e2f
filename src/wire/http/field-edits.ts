import { type Fields, withoutFields } from '../../core/index.ts';
import { foldName, NameTable, withRule } from './field-rules.ts';

/** Looks up a few names like `NameTable`, but takes little memory: ten thousand routes may each have one. */
export class FoldedNames {
  /** Each name once, folded by `foldName`. */
  readonly names: readonly string[];
  readonly #byLength: (readonly string[] | undefined)[] = [];

  constructor(names: Iterable<string>) {
    this.names = [...new Set([...names].map(foldName))];
    for (const name of this.names)
      this.#byLength[name.length] = [...(this.#byLength[name.length] ?? []), name];
  }

  /** True if a careless backend would treat this name as one of the listed names. */
  has(name: string): boolean {
    return this.#byLength[name.length]?.includes(foldName(name)) === true;
  }

  /** Returns the fields in a new array, without those that have one of the listed names. */
  without(fields: Fields): string[] {
    return withoutFields(fields, name => this.has(name));
  }
}

/** Why a route may not set or remove a field: the part of the gateway that controls it. */
export type FieldOwner =
  | 'framing'
  | 'host'
  | 'token'
  | 'forwarding'
  | 'limits'
  | 'trace'
  | 'certificate'
  | 'websocket'
  | 'call';

const FRAMING = [
  ...['connection', 'content-length', 'transfer-encoding', 'keep-alive', 'proxy-connection', 'te', 'trailer'],
  ...['upgrade', 'http2-settings', 'proxy-authenticate', 'proxy-authorization', 'proxy-authentication-info'],
];
const OF_BOTH = [
  ...withRule(FRAMING, 'framing'),
  ...withRule(['host'], 'host'),
  ...withRule(['via', 'x-request-id'], 'trace'),
  ...withRule(['x-ratelimit-*', 'ratelimit', 'ratelimit-*', 'retry-after'], 'limits'),
  // Both ends agree on the key and the protocol of a handshake.
  ...withRule(['sec-websocket-*'], 'websocket'),
];

/** Request fields that routes neither set nor remove, in addition to those for which the gateway has a rule. */
export const RESERVED_REQUEST_FIELDS = new NameTable<FieldOwner>([
  ...OF_BOTH,
  ...withRule(['expect', 'max-forwards'], 'framing'),
  ...withRule(['authorization'], 'token'),
  ...withRule(['client-cert', 'client-cert-chain'], 'certificate'),
  ...withRule(['traceparent', 'tracestate'], 'trace'),
]);

/** Response fields that routes neither set nor remove. */
export const RESERVED_RESPONSE_FIELDS = new NameTable<FieldOwner>([
  ...OF_BOTH,
  ...withRule(['forwarded', 'x-forwarded-*'], 'forwarding'),
]);

/** The fields that make up a gRPC call, in both directions. */
export const RESERVED_CALL_FIELDS = new NameTable<FieldOwner>(withRule(['content-type', 'grpc-*'], 'call'));
