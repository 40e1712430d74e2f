/** What a proxy says about a connection before its first byte. `bytes`: length of the header. */
export type ProxyHeader =
  /** It relays the connection of the client at this address, spelled as by `normalizeAddress`. */
  | { readonly from: 'client'; readonly address: string; readonly bytes: number }
  /** It speaks for itself, as in a health check (version 2, LOCAL). */
  | { readonly from: 'proxy'; readonly bytes: number }
  /** The proxy relays a connection without naming the client (version 1: UNKNOWN; version 2: neither TCP over IPv4 nor over IPv6). */
  | { readonly from: 'unknown'; readonly bytes: number };

/**
 * - `incomplete`: the bytes so far may become a header
 * - `missing`: the bytes are something else
 * - `broken`: it begins as a header does, and is not valid
 */
export type UnreadableHeader = 'incomplete' | 'missing' | 'broken';
