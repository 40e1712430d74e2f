import type { CapsModel } from '../config/index.ts';
import type { Cap } from '../core/index.ts';
import { type CommonPermits, ProcessCommonPermits } from '../gateway/index.ts';
import { type AddressSet, addressKey } from '../http/index.ts';

type Caps = Pick<CapsModel, 'connections' | 'connectionsPerAddress'>;

/**
 * Counts open connections, in all and for each address that is not a trusted proxy: behind those are many clients. Counts TLS
 * handshakes under way, too. Several processes or threads may share the counts.
 */
export interface ConnectionCaps {
  /** The permits of TLS handshakes. */
  readonly handshakes: CommonPermits;
  /** The most connections that all addresses together may have. */
  readonly maxConnections: number;
  /** Sets other caps. Open connections stay and are counted. */
  use(caps: Caps, trusted: AddressSet): void;
  /** Counts a connection and returns null; or returns the cap that it would exceed. */
  take(address: string): Cap | null;
  /** Counts an open connection under another address. If it would exceed a cap there, returns that cap and changes nothing. */
  move(from: string, to: string): Cap | null;
  giveBack(address: string): void;
}

/** Counts in this process. */
export class ProcessConnectionCaps implements ConnectionCaps {
  readonly handshakes = new ProcessCommonPermits();
  #caps: Caps;
  #trusted: AddressSet;
  readonly #ipv6Prefix: number | undefined;
  readonly #byAddress = new Map<string, number>();
  #open = 0;

  /** @param ipv6Prefix the prefix of the IPv6 networks that count as one address each. Default 64 */
  constructor(caps: Caps, trusted: AddressSet, ipv6Prefix?: number) {
    this.#ipv6Prefix = ipv6Prefix;
    this.#caps = caps;
    this.#trusted = trusted;
  }

  get maxConnections(): number {
    return this.#caps.connections;
  }

  use(caps: Caps, trusted: AddressSet): void {
    this.#caps = caps;
    this.#trusted = trusted;
  }

  take(address: string): Cap | null {
    if (this.#open >= this.#caps.connections) return 'connections';
    const key = addressKey(address, this.#ipv6Prefix);
    if (this.#isFull(key, address)) return 'connections_per_address';
    this.#add(key);
    return null;
  }

  move(from: string, to: string): Cap | null {
    const key = addressKey(to, this.#ipv6Prefix);
    if (key === addressKey(from, this.#ipv6Prefix)) return null;
    if (this.#isFull(key, to)) return 'connections_per_address';
    this.giveBack(from);
    this.#add(key);
    return null;
  }

  giveBack(address: string): void {
    const key = addressKey(address, this.#ipv6Prefix);
    const count = this.#countOf(key);
    this.#open--;
    if (count <= 1) this.#byAddress.delete(key);
    else this.#byAddress.set(key, count - 1);
  }

  #add(key: string): void {
    this.#open++;
    this.#byAddress.set(key, this.#countOf(key) + 1);
  }

  #countOf(key: string): number {
    return this.#byAddress.get(key) ?? 0;
  }

  #isFull(key: string, address: string): boolean {
    return this.#countOf(key) >= this.#caps.connectionsPerAddress && !this.#trusted.has(address);
  }
}
