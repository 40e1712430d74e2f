import type { Owner, PoolModel, UpstreamPermits, UpstreamPlace } from '../../core/index.ts';
import type { ConnectionOwner, OwnedConnection } from '../../upstream/index.ts';

/** An exchange, as far as places at an upstream depend on it. */
interface PlaceTaker {
  readonly destination: { readonly pool: PoolModel | null };
  readonly callerKey: string;
  readonly callerOwners: readonly Owner[];
}

/** A connection to an upstream, and the place that it holds there for as long as it lasts. */
interface Owned {
  readonly pool: PoolModel;
  readonly permit: UpstreamPlace;
  /** True while an exchange uses its place. */
  isLent: boolean;
  isLost: boolean;
}

/**
 * The connections to upstreams that belong to one connection of a client: the upstream has asked it to authenticate its
 * connection (NTLM, Negotiate), so whatever follows there is served as the same user. Each holds a place of its caller, or one
 * client could hold all connections that an upstream accepts.
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
