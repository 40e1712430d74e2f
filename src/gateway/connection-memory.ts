import type { Caller, Verifier } from '../auth/index.ts';
import type { Fields } from '../core/index.ts';
import type { AddressSet, ForwardingRules, RequestHead } from '../http/index.ts';

/** A token that was found good, and all that this depended on. */
export interface KnownToken {
  readonly verifier: Verifier;
  readonly schemes: readonly string[];
  /** The field's value as it came, which costs less to compare than the token's hash to make. */
  readonly authorization: string;
  readonly token: string;
  readonly caller: Caller;
}

/** A head that was found in order, and all that this depended on. */
export interface KnownHead {
  /** Of one snapshot alone; with it the connection's peer is a trusted proxy or not. */
  readonly rules: ForwardingRules;
  /** The very array: a listener hands out the same one for the same bytes. */
  readonly fields: Fields;
  readonly head: RequestHead;
  readonly clientAddress: string;
}

/** What the gateway remembers from one request of a connection to the next; gone with the connection. */
export class ConnectionMemory {
  token: KnownToken | null = null;
  head: KnownHead | null = null;
  #proxies: AddressSet | null = null;
  #trusted = false;

  /**
   * Whether the connection's peer is one of these proxies. Asked once for each set of them, since the answer costs a hundredth of
   * a request.
   */
  trusts(peer: string, proxies: AddressSet): boolean {
    if (this.#proxies !== proxies) {
      this.#proxies = proxies;
      this.#trusted = proxies.has(peer);
    }
    return this.#trusted;
  }
}
