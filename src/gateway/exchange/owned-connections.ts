import type { Owner, PoolModel, UpstreamPermits, UpstreamPlace } from '../../core/index.ts';
import type { ConnectionOwner, OwnedConnection } from '../../upstream/index.ts';

/** The part of an exchange that decides its place at an upstream. */
interface PlaceTaker {
  readonly destination: { readonly pool: PoolModel | null };
  readonly callerKey: string;
  readonly callerOwners: readonly Owner[];
}

/** A connection to an upstream, with the place there that it keeps until it closes. */
interface Owned {
  readonly pool: PoolModel;
  readonly permit: UpstreamPlace;
  /** True while an exchange uses its place. */
  isLent: boolean;
  isLost: boolean;
}

/**
 * The connections to upstreams that belong to one connection of a client. The upstream has asked the client to authenticate its
 * connection (NTLM, Negotiate), so it treats every later request there as that user's. Each holds a place of its caller, or one
 * client could use all connections that an upstream accepts.
 */
export class OwnedConnections implements ConnectionOwner {
  readonly #permits: UpstreamPermits;
  readonly #owned = new Map<OwnedConnection, Owned>();
  #exchange: PlaceTaker;

  constructor(permits: UpstreamPermits, exchange: PlaceTaker) {
    this.#permits = permits;
    this.#exchange = exchange;
  }

  /** Lends the place of a connection to this upstream to an exchange; `null` if there is none. */
  lend(exchange: PlaceTaker, pool: PoolModel): UpstreamPlace | null {
    this.#exchange = exchange;
    for (const owned of this.#owned.values())
      if (!owned.isLent && owned.pool.upstream === pool.upstream && owned.pool.name === pool.name)
        return this.#lend(owned);
    return null;
  }

  #lend(owned: Owned): UpstreamPlace {
    owned.isLent = true;
    const giveBack = () => {
      if (!owned.isLent) return;
      owned.isLent = false;
      if (owned.isLost) owned.permit.giveBack();
    };
    return { giveBack };
  }

  keep(connection: OwnedConnection): boolean {
    const { destination, callerKey, callerOwners } = this.#exchange;
    const { pool } = destination;
    const permit = pool === null ? 'full' : this.#permits.take(pool, callerKey, callerOwners);
    if (pool === null || typeof permit !== 'object') return false;
    this.#owned.set(connection, { pool, permit, isLent: false, isLost: false });
    return true;
  }

  lost(connection: OwnedConnection): void {
    const owned = this.#owned.get(connection);
    if (owned === undefined) return;
    this.#owned.delete(connection);
    owned.isLost = true;
    if (!owned.isLent) owned.permit.giveBack();
  }

  /** Closes all of them: the client's connection has ended. */
  close(): void {
    for (const connection of this.#owned.keys()) connection.closeWhenIdle();
  }
}
