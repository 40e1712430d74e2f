import type { System, Timer } from '../../core/index.ts';
import type { EndpointSource, SourcedEndpoint } from '../endpoint-source.ts';
import type { EndpointAddress } from '../transport.ts';
import type { FoundAddress, Lookup, LookupAnswer } from './lookup.ts';

/** How often a name is looked up. Neither the system nor Node's resolver tells how long SRV records or their hosts are valid. */
const EVERY_MS = 30_000;
/** How soon a failed lookup is tried again. */
const AGAIN_AFTER_MS = 5_000;
/** Minimum time between lookups of a name due to failed connects. */
export const REFRESH_MS = 1_000;
/** Jitter: up to this fraction of the time between two lookups is added at random, so that gateways do not all ask at once. */
const JITTER = 0.1;
/** How long an address counts as unreachable after a failed connect. */
const UNREACHED_MS = 30_000;
/** How long an unreachable address gets to accept a probing connection. */
const PROBE_MS = 1_000;
/** Maximum number of addresses used. A name with more is a mistake or an attack. */
const MAX_ADDRESSES = 1_000;

export type NamedSystem = Pick<System, 'clock' | 'random' | 'network'>;

/** Is notified of the outcome of lookups. */
export interface LookupListener {
  /** Called when a lookup failed, for the first time since one succeeded. */
  failed(cause: string): void;
  /** Called when a lookup succeeded, for the first time since one failed. */
  works(): void;
  /** Registers a callback for lookups by any thread. Returns a function that ends this. */
  follow(news: () => void): () => void;
}

/**
 * Looks up a name repeatedly, and provides its addresses.
 *
 * A lookup may find groups of addresses: two families, or several priorities. The first group is used. If none of its addresses
 * could be reached recently, the next group is used. After each lookup, earlier groups are tried, and one that accepts a connection
 * is used again.
 */
export class NamedEndpoints implements EndpointSource {
  endpoints: readonly SourcedEndpoint[] = [];
  fault: Error | null = null;
  readonly #lookup: Lookup;
  readonly #name: string;
  readonly #listener: LookupListener;
  readonly #system: NamedSystem;
  #tiers: LookupAnswer = [];
  /** The index of the group in use. */
  #tier = 0;
  /** When a connect to an address in use last failed, by `keyOf`. */
  #unreached = new Map<string, number>();
  #changed: () => void = () => {};
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;
  /** Whether another thread has looked up the name while an earlier answer is being processed. */
  #hasNews = false;
  /** When a failed connect last caused a lookup. */
  #refreshedAtMs = Number.NEGATIVE_INFINITY;
  #closed = false;
  #unfollow: () => void = () => {};

  /** @param name the name that certificates are verified for */
  constructor(lookup: Lookup, name: string, system: NamedSystem, listener: LookupListener) {
    this.#lookup = lookup;
    this.#name = name;
    this.#listener = listener;
    this.#system = system;
  }

  start(changed: () => void): void {
    this.#changed = changed;
    this.#unfollow = this.#listener.follow(() => {
      this.#hasNews = true;
      void this.#lookUp();
    });
    this.#lookUp();
  }

  refresh(failed: EndpointAddress | null): Promise<void> {
    if (this.#closed) return Promise.resolve();
    const hasMoved = failed !== null && this.#noteUnreached(failed);
    const running = this.#running ?? this.#lookUpIfDue();
    return hasMoved ? Promise.resolve() : running;
  }

  close(): void {
    this.#closed = true;
    this.#unfollow();
    this.#system.clock.cancel(this.#timer);
  }

  /** Switches to the next group if no address of this one can be reached. Returns whether it did. */
  #noteUnreached(failed: EndpointAddress): boolean {
    const key = keyOf(failed);
    if (!this.endpoints.some(endpoint => keyOf(endpoint) === key)) return false;
    const nowMs = this.#system.clock.monotonicMs();
    this.#unreached.set(key, nowMs);
    const isUnreached = (endpoint: EndpointAddress) =>
      nowMs - (this.#unreached.get(keyOf(endpoint)) ?? Number.NEGATIVE_INFINITY) < UNREACHED_MS;
    if (this.#tiers.length < 2 || !this.endpoints.every(isUnreached)) return false;
    this.#unreached.clear();
    this.#useTier((this.#tier + 1) % this.#tiers.length);
    return true;
  }

  #lookUpIfDue(): Promise<void> {
    const nowMs = this.#system.clock.monotonicMs();
    if (nowMs - this.#refreshedAtMs < REFRESH_MS) return Promise.resolve();
    this.#refreshedAtMs = nowMs;
    return this.#lookUp();
  }

  #lookUp(): Promise<void> {
    this.#system.clock.cancel(this.#timer);
    this.#timer = null;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #run(): Promise<void> {
    let nextMs = AGAIN_AFTER_MS;
    try {
      const tiers = await this.#lookup().finally(() => {
        this.#hasNews = false;
      });
      nextMs = EVERY_MS;
      if (!this.#closed) await this.#take(tiers);
    } catch (error) {
      const isNew = this.fault === null;
      this.fault = error instanceof Error ? error : new Error(String(error));
      if (isNew && !this.#closed) this.#listener.failed(this.fault.message);
    }
    if (this.#closed) return;
    if (this.#hasNews) nextMs = 0;
    this.#timer = this.#system.clock.after(
      nextMs * (1 + this.#system.random() * JITTER),
      () => void this.#lookUp(),
    );
  }

  async #take(tiers: LookupAnswer): Promise<void> {
    if (this.fault !== null) this.#listener.works();
    this.fault = null;
    this.#tiers = tiers;
    const best = await this.#bestTier(Math.min(this.#tier, tiers.length - 1));
    if (!this.#closed) this.#useTier(best);
  }

  /** Returns the first group before this one that accepts a connection, or this one. */
  async #bestTier(tier: number): Promise<number> {
    for (let better = 0; better < tier; better++) {
      const taken = (this.#tiers[better] ?? []).map(address => this.#takesConnection(address));
      if ((await Promise.all(taken)).includes(true)) return better;
    }
    return tier;
  }

  #takesConnection({ host, port }: EndpointAddress): Promise<boolean> {
    return new Promise(resolve => {
      const socket = this.#system.network.connect({ host, port });
      const over = (taken: boolean) => {
        this.#system.clock.cancel(timer);
        socket.destroy();
        resolve(taken);
      };
      const timer = this.#system.clock.after(PROBE_MS, () => over(false));
      socket.once('connect', () => over(true));
      socket.once('error', () => over(false));
    });
  }

  #useTier(tier: number): void {
    this.#tier = tier;
    const next = this.#endpointsOf(this.#tiers[tier] ?? []);
    if (sameEndpoints(this.endpoints, next)) return;
    this.endpoints = next;
    const kept = new Set(next.map(keyOf));
    for (const key of this.#unreached.keys()) if (!kept.has(key)) this.#unreached.delete(key);
    this.#changed();
  }

  #endpointsOf(tier: readonly FoundAddress[]): SourcedEndpoint[] {
    const byKey = new Map<string, SourcedEndpoint>();
    for (const found of tier) {
      if (byKey.size === MAX_ADDRESSES) break;
      byKey.set(keyOf(found), { ...found, name: this.#name });
    }
    return [...byKey.values()];
  }
}

/** Formats an address so that equal ones have the same text. */
function keyOf({ host, port }: EndpointAddress): string {
  return `${host} ${port}`;
}

/** Whether two lists have the same addresses with the same weights; DNS servers change the order. */
function sameEndpoints(some: readonly SourcedEndpoint[], others: readonly SourcedEndpoint[]): boolean {
  if (some.length !== others.length) return false;
  const weights = new Map(some.map(endpoint => [keyOf(endpoint), endpoint.weight]));
  return others.every(endpoint => weights.get(keyOf(endpoint)) === endpoint.weight);
}
