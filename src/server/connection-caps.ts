import type { CapsModel } from '../config/index.ts';
import { type Cap, type NewPermits, type NoPermit, ownPermits, type Permits } from '../core/index.ts';
import { type AddressSet, addressKey } from '../http/index.ts';

type Caps = Pick<CapsModel, 'connections' | 'connectionsPerAddress'>;

/** Refused connections have one cap for all addresses. */
const ANYBODY = '';

/** Counts open connections, in all and for each address that is not a trusted proxy: behind those are many clients. */
export class ConnectionCaps {
  readonly #permits: Permits;
  /** Counts connections that are refused and not closed yet. */
  readonly #lingering: Permits;
  readonly #ipv6Prefix: number | undefined;
  #caps: Caps;
  #trusted: AddressSet;

  /** @param ipv6Prefix the prefix of the IPv6 networks that count as one address each. Default 64 */
  constructor(caps: Caps, trusted: AddressSet, ipv6Prefix?: number, newPermits: NewPermits = ownPermits) {
    this.#permits = newPermits('connections');
    this.#lingering = newPermits('refused connections');
    this.#ipv6Prefix = ipv6Prefix;
    this.#caps = caps;
    this.#trusted = trusted;
  }

  /** Sets other caps. Open connections stay and are counted. */
  use(caps: Caps, trusted: AddressSet): void {
    this.#caps = caps;
    this.#trusted = trusted;
  }

  /** Counts a connection and returns null; or returns the cap that it would exceed. */
  take(address: string): Cap | null {
    const none = this.#take(address, this.#caps.connections);
    if (none === null) return null;
    return none === 'share taken' ? 'connections_per_address' : 'connections';
  }

  /** Counts an open connection under another address. If it would exceed a cap there, returns that cap and changes nothing. */
  move(from: string, to: string): Cap | null {
    if (this.#keyOf(from) === this.#keyOf(to)) return null;
    if (this.#take(to, Number.POSITIVE_INFINITY) !== null) return 'connections_per_address';
    this.giveBack(from);
    return null;
  }

  giveBack(address: string): void {
    this.#permits.giveBack(this.#keyOf(address));
  }

  /** Counts a connection that is refused. Returns false if as many are as may be open: a flood must not take twice the room. */
  linger(): boolean {
    const { connections } = this.#caps;
    return this.#lingering.take(ANYBODY, connections, connections) === null;
  }

  /** A connection that lingered is closed. */
  lingered(): void {
    this.#lingering.giveBack(ANYBODY);
  }

  #take(address: string, max: number): NoPermit | null {
    const key = this.#keyOf(address);
    const none = this.#permits.take(key, max, this.#caps.connectionsPerAddress);
    return none === 'share taken' && this.#trusted.has(address)
      ? this.#permits.take(key, max, Number.POSITIVE_INFINITY)
      : none;
  }

  #keyOf(address: string): string {
    return addressKey(address, this.#ipv6Prefix);
  }
}
