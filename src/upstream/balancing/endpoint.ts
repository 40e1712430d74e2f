import type { OutReason, Random } from '../../core/index.ts';
import { formatHostPort, RecentCount } from '../../core/index.ts';
import type { EndpointAddress, EndpointPool } from '../transport.ts';
import type { Candidate } from './balancer.ts';
import { textHash } from './caller-rank.ts';
import { EndpointHealth } from './endpoint-health.ts';

/** Slots for which a failure counts as in flight. Five, because the first one may be nearly over: so at least a second. */
const FAILURE_SLOTS = 5;
const FAILURE_SLOT_MS = 250;

/** Balances requests between endpoints, and is notified of their health. */
export interface EndpointOwner {
  mayEject(endpoint: Endpoint): boolean;
  /** Called when an endpoint is taken out of use, or is back (`null`). */
  changed(endpoint: Endpoint, reason: OutReason | null): void;
}

/** One address of an upstream: its connections, its health and what is in flight to it. */
export class Endpoint implements Candidate {
  readonly address: EndpointAddress;
  /** The address, by `formatHostPort`: where this is the same, it is the same endpoint. */
  readonly name: string;
  readonly nameHash: number;
  readonly pool: EndpointPool;
  readonly health: EndpointHealth;
  /** Above 0. The transport sets it. */
  weight = 1;
  /** The transport sets it. */
  isBackup = false;
  /** The value of the cookie that names it; `null` if none does. The transport sets it. */
  mark: string | null = null;
  /** The owner, which is notified of its health. Replaced by a reload. */
  owner: EndpointOwner;
  #inFlight = 0;
  readonly #failed = new RecentCount(FAILURE_SLOTS, FAILURE_SLOT_MS);

  constructor({ host, port }: EndpointAddress, pool: EndpointPool, owner: EndpointOwner, random: Random) {
    this.address = { host, port };
    this.name = formatHostPort(this.address);
    this.nameHash = textHash(this.name);
    this.pool = pool;
    this.owner = owner;
    const changed = (reason: OutReason | null) => this.owner.changed(this, reason);
    this.health = new EndpointHealth({ mayEject: () => this.owner.mayEject(this), changed }, random);
  }

  get isOut(): boolean {
    return this.health.outFor !== null;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  review(nowMs: number): number {
    return this.health.review(nowMs);
  }

  share(nowMs: number): number {
    return this.health.share(nowMs);
  }

  load(nowMs: number): number {
    return this.#inFlight + this.#failed.total(nowMs);
  }

  began(): void {
    this.#inFlight++;
  }

  ended(): void {
    this.#inFlight--;
  }

  /**
   * Counts a failed request as in flight for another second: an endpoint that fails fast looks idle, and would attract all
   * requests.
   */
  failed(nowMs: number): void {
    this.#failed.add(nowMs);
  }
}
