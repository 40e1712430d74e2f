import type { AddressSet } from '../../http/index.ts';
import type { Arrival } from './arrival.ts';
import type { ValidToken } from './valid-token.ts';

/** What the gateway remembers from one request of a connection to the next. */
export class ConnectionMemory {
  /** Clients send the same token with one request after another. */
  token: ValidToken | null = null;
  /** The last arrival with a valid head: clients repeat their fields as well. */
  arrival: Arrival | null = null;
  #proxies: AddressSet | null = null;
  #trusted = false;
  readonly #peerMayForward: boolean;

  /** @param peerMayForward false: the peer vouches for no forwarding header, even if it is a trusted proxy */
  constructor(peerMayForward: boolean) {
    this.#peerMayForward = peerMayForward;
  }

  /**
   * Whether the connection's peer is one of these proxies. Looks it up once per set, since a lookup costs a hundredth of a
   * request.
   */
  trusts(peer: string, proxies: AddressSet): boolean {
    if (this.#proxies !== proxies) {
      this.#proxies = proxies;
      this.#trusted = this.#peerMayForward && proxies.has(peer);
    }
    return this.#trusted;
  }
}
