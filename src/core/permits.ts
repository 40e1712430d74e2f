import { POOL_NAMES, type PoolName } from './error.ts';

/**
 * - `full`: all permits are taken
 * - `share taken`: this key has used its share
 * - `both`: either alone would refuse it
 */
export type NoPermit = 'full' | 'share taken' | 'both';

/** An owner of many keys, such as a network of addresses. All its keys together get only a few shares. */
export interface Owner {
  /** The key of the owner itself. No caller has it. */
  readonly key: string;
  /** How many shares of one key all its keys may have together. */
  readonly shares: number;
}

/** For keys without owners, such as that of a caller with a token. */
export const NO_OWNERS: readonly Owner[] = [];

/** Counts what is in flight, in total, per key, and per owner of keys, up to a cap each. */
export interface Permits {
  readonly taken: number;
  takenBy(key: string): number;
  /**
   * Counts one more and returns null; or returns which cap is reached, and counts nothing.
   *
   * @param owners the owners of the key, at most two. Default: none
   */
  take(key: string, max: number, share: number, owners?: readonly Owner[]): NoPermit | null;
  /** `owners`: the same as for `take`. */
  giveBack(key: string, owners?: readonly Owner[]): void;
}

/** Makes the permits with this name. Threads and gateways that share permits identify them by name. */
export type NewPermits = (name: string) => Permits;

/** Counts for one gateway. Contains only keys in use. */
export class ProcessPermits implements Permits {
  readonly #byKey = new Map<string, number>();
  #taken = 0;

  get taken(): number {
    return this.#taken;
  }

  takenBy(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }

  take(key: string, max: number, share: number, owners = NO_OWNERS): NoPermit | null {
    const isShareTaken = this.#isShareTaken(key, share, owners);
    if (this.#taken >= max) return isShareTaken ? 'both' : 'full';
    if (isShareTaken) return 'share taken';
    this.#taken++;
    this.#add(key);
    for (const owner of owners) this.#add(owner.key);
    return null;
  }

  giveBack(key: string, owners = NO_OWNERS): void {
    this.#taken--;
    this.#remove(key);
    for (const owner of owners) this.#remove(owner.key);
  }

  #isShareTaken(key: string, share: number, owners: readonly Owner[]): boolean {
    if (this.takenBy(key) >= share) return true;
    for (const owner of owners) if (this.takenBy(owner.key) >= share * owner.shares) return true;
    return false;
  }

  #add(key: string): void {
    this.#byKey.set(key, this.takenBy(key) + 1);
  }

  #remove(key: string): void {
    const count = this.takenBy(key);
    if (count <= 1) this.#byKey.delete(key);
    else this.#byKey.set(key, count - 1);
  }
}

/** Makes permits that are not shared, whatever their name. */
export const ownPermits: NewPermits = () => new ProcessPermits();

/** How many exchanges of one kind an upstream takes at a time; beyond either number the response is 503. */
export interface PoolModel {
  readonly name: PoolName;
  readonly upstream: string;
  readonly max: number;
  readonly maxPerCaller: number;
}

/** The place of one exchange among those of its kind to its upstream. */
export class UpstreamPermit {
  #permits: Permits | null;
  readonly #caller: string;
  readonly #owners: readonly Owner[];

  constructor(permits: Permits, caller: string, owners: readonly Owner[]) {
    this.#permits = permits;
    this.#caller = caller;
    this.#owners = owners;
  }

  giveBack(): void {
    this.#permits?.giveBack(this.#caller, this.#owners);
    this.#permits = null;
  }
}

/** A place that can be given back, once. */
export type UpstreamPlace = Pick<UpstreamPermit, 'giveBack'>;

/** Counts what is in flight to each upstream, by kind of exchange: for all callers together, and for each. */
export class UpstreamPermits {
  readonly #newPermits: NewPermits;
  /** Upstreams are few, and stay when nothing is in flight to them. */
  readonly #upstreams = new Map<string, Readonly<Record<PoolName, Permits>>>();

  constructor(newPermits: NewPermits) {
    this.#newPermits = newPermits;
  }

  /**
   * Returns the permit, or the cap that was reached. If the caller has used up its share and the upstream is full as well, returns
   * the cap on the share.
   */
  take(pool: PoolModel, caller: string, owners = NO_OWNERS): UpstreamPermit | 'full' | 'share taken' {
    const permits = this.#to(pool.upstream)[pool.name];
    const none = permits.take(caller, pool.max, pool.maxPerCaller, owners);
    if (none === null) return new UpstreamPermit(permits, caller, owners);
    return none === 'full' ? 'full' : 'share taken';
  }

  /** Exchanges in flight to this upstream, including calls and WebSockets. */
  taken(upstream: string): number {
    const permits = this.#to(upstream);
    return POOL_NAMES.reduce((sum, pool) => sum + permits[pool].taken, 0);
  }

  #to(upstream: string): Readonly<Record<PoolName, Permits>> {
    let permits = this.#upstreams.get(upstream);
    if (permits === undefined) {
      const of = (pool: PoolName) => this.#newPermits(`${pool} to ${upstream}`);
      permits = { requests: of('requests'), websockets: of('websockets'), grpc_calls: of('grpc_calls') };
      this.#upstreams.set(upstream, permits);
    }
    return permits;
  }
}
