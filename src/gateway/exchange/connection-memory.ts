import type { LimitsModel } from '../../config/index.ts';
import type { Fields } from '../../core/index.ts';
import { ownString } from '../../core/index.ts';
import type { Caller, LastingVerifier, TokenVerifier } from '../../identity/auth/index.ts';
import type { KnownClient } from '../../limits/index.ts';
import type { AddressSet, ForwardingRules, RequestHead } from '../../wire/http/index.ts';
import { thumbprintIn } from '../../wire/http/index.ts';
import { ClientAddress } from './client-address.ts';
import type { OwnedConnections } from './owned-connections.ts';

/** The header fields of a request as read, and the address of its client. */
export interface Arrival {
  readonly head: RequestHead;
  /** The host of `Host`, normalised for the route lookup; `null` if it is missing or not a plain host. */
  readonly host: string | null;
  /** The host with its port, as passed to upstreams; '' if there is none. */
  readonly hostAndPort: string;
  readonly client: ClientAddress;
  /**
   * The forwarding rules by which the fields were read. They belong to one snapshot, as does the decision whether the peer is a
   * trusted proxy.
   */
  readonly rules: ForwardingRules;
  /** The array that the head was read from: a listener returns the same array for the same bytes. */
  readonly fields: Fields;
}

/**
 * What the gateway remembers from one request of a connection to the next: docs/decisions/031-connection-memory.md. Each part is
 * used only while the objects that it was derived from are still the current ones, so a reload does not have to clear it.
 */
export class ConnectionMemory {
  /** The last valid token: clients send the same one with every request. */
  token: AccessToken | null = null;
  /** The key of the last proof, if it was good (RFC 9449); `null` if it was not, or there was none. */
  provenKey: string | null = null;
  /** The last arrival with a valid head: clients repeat their other fields as well. */
  arrival: Arrival | null = null;
  /** The connections to upstreams that belong to this one; `null` until an upstream first authenticates connections. */
  owned: OwnedConnections | null = null;
  /** The last client, and the set of addresses never restricted at that time. */
  #client: ClientAddress | null = null;
  #spared: AddressSet | null = null;
  /** The last certificate that a token was compared with, and its thumbprint. */
  #certificate = '';
  #thumbprint: string | null = null;
  #proxies: AddressSet | null = null;
  #trusted = false;
  readonly #peerMayForward: boolean;

  /** @param peerMayForward false: the peer's forwarding headers are ignored, even if it is a trusted proxy */
  constructor(peerMayForward: boolean) {
    this.#peerMayForward = peerMayForward;
  }

  /** The client at an address. Kept while the requests of a connection have the same one. */
  clientAt(address: string, { keying, neverRestrict }: LimitsModel): ClientAddress {
    const spared = neverRestrict.addresses;
    if (this.#client === null || this.#client.address !== address || this.#spared !== spared) {
      this.#client = new ClientAddress(address, keying, spared);
      this.#spared = spared;
    }
    return this.#client;
  }

  /**
   * The thumbprint of a certificate; `null` if the text is not a certificate. Kept while the requests of a connection present the
   * same one.
   */
  thumbprintOf(certificate: string): string | null {
    if (this.#certificate !== certificate) {
      this.#thumbprint = thumbprintIn(certificate);
      this.#certificate = ownString(certificate);
    }
    return this.#thumbprint;
  }

  /** Whether the connection's peer is one of these proxies. Looked up once per set: a lookup costs a hundredth of a request. */
  trusts(peer: string, proxies: AddressSet): boolean {
    if (this.#proxies !== proxies) {
      this.#proxies = proxies;
      this.#trusted = this.#peerMayForward && proxies.has(peer);
    }
    return this.#trusted;
  }
}

/** A valid token, or API key, with everything its validity depended on, except the certificate that it may be bound to. */
export interface ValidToken {
  readonly caller: Caller;
  /** The caller in the form that restrictions look up. */
  readonly client: KnownClient;
  /** `null` for an API key. */
  readonly token: string | null;
  /** The value of `Authorization`, or of the field for keys, as received: comparing it costs less than hashing the token. */
  readonly authorization: string;
  readonly verifier: LastingVerifier;
}

/** A valid token that is not an API key. */
export interface AccessToken extends ValidToken {
  readonly token: string;
  readonly verifier: TokenVerifier;
  readonly schemes: readonly string[];
}
