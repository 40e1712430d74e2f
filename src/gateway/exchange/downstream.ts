import type { LimitsModel } from '../../config/index.ts';
import type { BodySource, ByteStream, ErrorSide, FieldNames, Fields, Release } from '../../core/index.ts';
import { ownString } from '../../core/index.ts';
import type { Caller, TokenVerifier } from '../../identity/auth/index.ts';
import type { KnownClient } from '../../limits/index.ts';
import type { AddressSet, ForwardingRules, HttpVersion, RequestHead } from '../../wire/http/index.ts';
import { thumbprintIn } from '../../wire/http/index.ts';
import type { BodyTerms, RequestFraming } from '../../wire/http1/index.ts';
import { ClientAddress } from './client-address.ts';
import type { OwnedConnections } from './owned-connections.ts';

/** Takes over a connection from an exchange when the protocol is switched. */
export interface Successor {
  start(client: ByteStream): void;
  /** Checks for timeouts. Called twice a second. */
  sweep(nowMs: number): void;
  /** Called when the gateway shuts down. */
  drain(): void;
}

/** The client's side of an exchange, provided by a listener: one request, and the means to answer it. Hides Node's objects. */
export interface Downstream {
  /** The method; empty if Node does not know it. */
  readonly method: string;
  /** The request target as received. */
  readonly target: string;
  readonly protocol: 'http1' | 'h2';
  /** The HTTP version, as written in `Via`. */
  readonly version: HttpVersion;
  readonly fields: Fields;
  /** Names of the fields that the client marked as never indexed (RFC 7541, 6.2.3). Empty in HTTP/1.1. */
  readonly neverIndexed: FieldNames;
  /** What the fields say about the body and the connection, as read by the listener. */
  readonly framing: RequestFraming;
  readonly scheme: 'http' | 'https';
  /** The peer's address, with IPv4-mapped IPv6 written as IPv4. */
  readonly peer: string;
  /** True if its listener only redirects clients to https. */
  readonly redirects: boolean;
  /** True if its listener serves only gRPC calls. */
  readonly onlyCalls: boolean;
  /** The client's verified certificate, in the form of `Client-Cert` (RFC 9440); `null` if there is none. */
  readonly clientCertificate: string | null;
  readonly memory: ConnectionMemory;
  /** Bytes of the request's body read so far. */
  readonly bytesReceived: number;
  /** The request's body, read under these terms. Called at most once, and only if the framing announces a body. */
  body(terms: BodyTerms): BodySource;

  /**
   * Reports that this many bytes of the body are buffered instead of passed on. They count as held for the client until the
   * exchange ends.
   */
  keeps(bytes: number): void;
  /** Keeps response fields with these names out of compression tables. Call it before they are sent. */
  neverIndex(names: FieldNames): void;
  /** Sends a complete response in one write; each character of the body is one byte. */
  answer(status: number, reason: string, fields: Fields, body: string, close: boolean): void;
  /** Sends an interim response. */
  info(status: number, fields: Fields): void;
  /** Starts a response with a body to follow; without a length among the fields, it is chunked. */
  head(status: number, reason: string, fields: Fields): void;
  /**
   * Sends a part of the body. Returns false if the client is slower: then wait for `Exchange.drained`. Calls `release` once the
   * buffer may be reused.
   */
  write(chunk: Buffer, release: Release | null): boolean;
  end(trailers: Fields): void;
  /**
   * Answers 101, hands the connection to the successor, and starts it. Returns false if the client has disconnected. Call it only
   * if the request asks for that protocol.
   */
  switchProtocols(fields: Fields, successor: Successor): boolean;
  /** Aborts the response, so that the client cannot take it for complete. `side`: who is at fault. */
  abort(side: ErrorSide): void;
}

/** What a request's header fields say, and the address of its client. */
export interface Arrival {
  readonly head: RequestHead;
  /** The host of `Host`, normalised for the route lookup; `null` if it is missing or not a plain host. */
  readonly host: string | null;
  /** The host with its port, as passed to upstreams; '' if there is none. */
  readonly hostAndPort: string;
  readonly client: ClientAddress;
  /**
   * The forwarding rules it was read under. They belong to one snapshot, as does the decision whether the peer is a trusted
   * proxy.
   */
  readonly rules: ForwardingRules;
  /** The array it was read from: a listener returns the same array for the same bytes. */
  readonly fields: Fields;
}

/** What the gateway remembers from one request of a connection to the next. */
export class ConnectionMemory {
  /** The last valid token: clients send the same one with every request. */
  token: ValidToken | null = null;
  /** The last arrival with a valid head: clients repeat their other fields as well. */
  arrival: Arrival | null = null;
  /** The connections to upstreams that belong to it; `null` until an upstream first authenticates connections. */
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
   * The thumbprint of a certificate; `null` if the text is not one. Kept while the requests of a connection present the same one.
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

/** A valid token with everything its validity depended on, except the certificate that it may be bound to. */
export interface ValidToken {
  readonly caller: Caller;
  /** The caller in the form that restrictions look up. */
  readonly client: KnownClient;
  readonly token: string;
  /** The value of `Authorization` as received: comparing it costs less than hashing the token. */
  readonly authorization: string;
  readonly verifier: TokenVerifier;
  readonly schemes: readonly string[];
}
