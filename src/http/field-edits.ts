import type { Fields } from '../core/index.ts';
import { foldName, NameTable } from './field-rules.ts';

/** Looks up a few names as `NameTable` does, but takes little memory: ten thousand routes may each have one. */
export class FoldedNames {
  /** Each name once, folded. */
  readonly names: readonly string[];
  readonly #byLength: (readonly string[] | undefined)[] = [];

  constructor(names: Iterable<string>) {
    this.names = [...new Set([...names].map(foldName))];
    for (const name of this.names)
      this.#byLength[name.length] = [...(this.#byLength[name.length] ?? []), name];
  }

  /** True if a careless backend would read this name as one of them. */
  has(name: string): boolean {
    return this.#byLength[name.length]?.includes(foldName(name)) === true;
  }

  /** Returns the fields without those of these names, in a new array. */
  without(fields: Fields): string[] {
    const kept: string[] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const name = fields[i] as string;
      if (!this.has(name)) kept.push(name, fields[i + 1] as string);
    }
    return kept;
  }
}

/** Why a route may not set or remove a field: what decides about it instead. */
export type FieldOwner =
  | 'framing'
  | 'host'
  | 'token'
  | 'forwarding'
  | 'limits'
  | 'trace'
  | 'websocket'
  | 'call';

const FRAMING = [
  ...['connection', 'content-length', 'transfer-encoding', 'keep-alive', 'proxy-connection', 'te', 'trailer'],
  ...['upgrade', 'http2-settings', 'proxy-authenticate', 'proxy-authorization', 'proxy-authentication-info'],
];
const OF_BOTH = [
  ...owned('framing', FRAMING),
  ...owned('host', ['host']),
  ...owned('trace', ['via', 'x-request-id']),
  ...owned('limits', ['x-ratelimit-*', 'ratelimit', 'ratelimit-*', 'retry-after']),
  ...owned('forwarding', ['forwarded', 'x-forwarded-*']),
  // The key and the protocol of a handshake are agreed by both ends.
  ...owned('websocket', ['sec-websocket-*']),
];

/** The fields of requests that routes neither set nor remove, beside those for which the gateway has a rule. */
export const OWNED_OF_REQUESTS = new NameTable<FieldOwner>([
  ...OF_BOTH,
  ...owned('framing', ['expect', 'max-forwards']),
  ...owned('token', ['authorization']),
  ...owned('trace', ['traceparent', 'tracestate']),
]);

/** The fields of responses that routes neither set nor remove. */
export const OWNED_OF_RESPONSES = new NameTable<FieldOwner>(OF_BOTH);

/** The fields that a gRPC call is made of, in both directions. */
export const OWNED_OF_CALLS = new NameTable<FieldOwner>(owned('call', ['content-type', 'grpc-*']));

function owned(owner: FieldOwner, names: readonly string[]): (readonly [string, FieldOwner])[] {
  return names.map(name => [name, owner] as const);
}
