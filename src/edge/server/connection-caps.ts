import type { CapsModel } from '../../config/index.ts';
import type { Cap, NewPermits, NoPermit, Permits } from '../../core/index.ts';
import { ProcessPermits } from '../../core/index.ts';
import { type AddressKeying, type AddressSet, addressKey, ownersOf } from '../../wire/http/index.ts';

type Caps = Pick<CapsModel, 'connections' | 'connectionsPerAddress' | 'refusedConnections'>;

/** Refused connections share one cap for all addresses. */
const ANYBODY = '';

/** Counts open connections, in total and per address. Trusted proxies have no cap per address, since they serve many clients. */
export class ConnectionCaps {
  readonly #permits: Permits;
  /** Counts refused connections that are not closed yet. */
  readonly #lingering: Permits;
  readonly #keying: AddressKeying | undefined;
  /** Open connections of each trusted proxy, uncapped: an owner may have many proxies, each with many clients. */
  readonly #ofProxies = new ProcessPermits();
  #caps: Caps;
  #trusted: AddressSet;

  /** @param keying says which addresses count as one. Default: as without limits.yaml */
  constructor(caps: Caps, trusted: AddressSet, permits: NewPermits, keying?: AddressKeying) {
    this.#permits = permits('connections');
    this.#lingering = permits('refused connections');
    this.#keying = keying;
    this.#caps = caps;
    this.#trusted = trusted;
  }

  /** Sets new caps. Open connections stay and are counted. */
  use(caps: Caps, trusted: AddressSet): void {
    this.#caps = caps;
    this.#trusted = trusted;
  }

  /** Counts a connection and returns null, or returns the cap that it would exceed. */
  take(address: string): Cap | null {
    const none = this.#take(address, this.#caps.connections);
    if (none === null) return null;
    return none === 'share taken' ? 'connections_per_address' : 'connections';
  }

  /** Moves an open connection to another address. If it would exceed a cap there, returns that cap and changes nothing. */
  move(from: string, to: string): Cap | null {
    if (this.#keyOf(from) === this.#keyOf(to)) return null;
    if (this.#take(to, Number.POSITIVE_INFINITY) !== null) return 'connections_per_address';
    this.giveBack(from);
    return null;
  }

  giveBack(address: string): void {
    const key = this.#keyOf(address);
    if (this.#ofProxies.takenBy(key) === 0) this.#permits.giveBack(key, ownersOf(key));
    else {
      this.#ofProxies.giveBack(key);
      this.#permits.giveBack(key);
    }
  }

  /**
   * Counts a refused connection. Returns false if there are as many as may be refused at a time, so that a flood of them does not
   * use up file descriptors.
   */
  linger(): boolean {
    const { refusedConnections } = this.#caps;
    return this.#lingering.take(ANYBODY, refusedConnections, refusedConnections) === null;
  }

  lingered(): void {
    this.#lingering.giveBack(ANYBODY);
  }

  #take(address: string, max: number): NoPermit | null {
    const key = this.#keyOf(address);
    if (!this.#trusted.has(address))
      return this.#permits.take(key, max, this.#caps.connectionsPerAddress, ownersOf(key));
    const none = this.#permits.take(key, max, Number.POSITIVE_INFINITY);
    if (none === null) this.#ofProxies.take(key, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
    return none;
  }

  #keyOf(address: string): string {
    return addressKey(address, this.#keying);
  }
}
