import type { Random } from '../../core/index.ts';
import { rankOf, textHash } from './caller-rank.ts';

/** How requests are distributed over the endpoints of an upstream. */
export type Balance = 'least_requests' | 'caller' | CookieBalance;

/** Each client stays at the endpoint that its cookie names. Clients without one are distributed as with `least_requests`. */
export interface CookieBalance {
  readonly cookie: string;
  /** The key for making its values; `null` for a random one per process. */
  readonly key: string | null;
}

/** An endpoint as the balancer sees it. */
export interface Candidate {
  /** Hash of its name, by which `balance: caller` ranks the endpoints. */
  readonly nameHash: number;
  /** Above 0. */
  readonly weight: number;
  /** Whether the endpoint is used only if no other is healthy. Default: false. */
  readonly isBackup?: boolean;
  /** Whether the endpoint is ejected, or fails its health checks. */
  readonly isOut: boolean;
  /** Ends an ejection whose time is up. Returns when to call again, unless something changes before. */
  review(nowMs: number): number;
  /** The fraction of its weight that counts now, above 0 and up to 1. */
  share(nowMs: number): number;
  /** How many requests are in flight to it, including those that failed within the last second. */
  load(nowMs: number): number;
}

/**
 * Chooses the endpoint of each request: of two endpoints chosen at random, by weight, the one with fewer requests in flight for its
 * weight. That distributes requests almost as evenly as a comparison of all endpoints, and gateways that do not know each other do
 * not all choose the same one. Source: M. Mitzenmacher, The Power of Two Choices in Randomized Load Balancing (2001)
 */
export class Balancer<Endpoint extends Candidate> {
  readonly #random: Random;
  #balance: Balance = 'least_requests';
  #all: readonly Endpoint[] = [];
  /** The endpoints in use: without those that are out, and without backups while another is left; all of them if every one is out. */
  #used: readonly Endpoint[] = [];
  /** Their current weights, and the cumulative sums. */
  #weights: readonly number[] = [];
  #sums: readonly number[] = [];
  #reviewAtMs = 0;
  /**
   * How often endpoints were taken out of use or came back, counted together for all balancers that share endpoints, including
   * those of earlier configurations.
   */
  #changes = { count: 0 };
  #seenChanges = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Makes both notice what changes in either: they have endpoints in common. */
  follow(other: Balancer<Endpoint>): void {
    this.#changes = other.#changes;
  }

  /** Chooses among these endpoints from now on. */
  use(endpoints: readonly Endpoint[], balance: Balance): void {
    this.#all = endpoints;
    this.#balance = balance;
    this.changed();
  }

  /** Called when an endpoint is out or back. */
  changed(): void {
    this.#changes.count++;
  }

  /** Whether this endpoint may be ejected: at most half may be out, unless a backup replaces it. */
  mayEject(endpoint?: Endpoint): boolean {
    const isCovered = this.#all.some(({ isBackup = false, isOut }) => isBackup && !isOut);
    if (isCovered && endpoint?.isBackup === false) return true;
    const out = this.#all.reduce((sum, { isOut }) => sum + (isOut ? 1 : 0), 0);
    return (out + 1) * 2 <= this.#all.length;
  }

  /** True if every endpoint is out. Then all of them get requests nonetheless. */
  allOut(nowMs: number): boolean {
    this.review(nowMs);
    return this.#all.length > 0 && this.#all.every(({ isOut }) => isOut);
  }

  /** Determines which endpoints are in use now. */
  review(nowMs: number): void {
    if (nowMs < this.#reviewAtMs && this.#seenChanges === this.#changes.count) return;
    this.#reviewAtMs = Math.min(...this.#all.map(endpoint => endpoint.review(nowMs)));
    this.#seenChanges = this.#changes.count;
    const fit = this.#all.filter(({ isOut }) => !isOut);
    const first = fit.filter(({ isBackup = false }) => !isBackup);
    const left = first.length > 0 ? first : fit;
    this.#used = left.length > 0 ? left : this.#all;
    this.#weights = this.#used.map(endpoint => endpoint.weight * endpoint.share(nowMs));
    let sum = 0;
    this.#sums = this.#weights.map(weight => {
      sum += weight;
      return sum;
    });
  }

  /** Whether requests go to this endpoint now. */
  uses(endpoint: Endpoint, nowMs: number): boolean {
    this.review(nowMs);
    return this.#used.includes(endpoint);
  }

  /**
   * Returns the endpoint for a request; `null` if all have been tried.
   *
   * @param caller the caller of the request
   * @param tried endpoints where the request has failed
   */
  choose(nowMs: number, caller: string, tried: readonly Endpoint[]): Endpoint | null {
    this.review(nowMs);
    if (tried.length > 0) return this.#chooseUntried(nowMs, caller, tried);
    return this.#balance === 'caller' ? this.#ofCaller(caller) : this.#lessBusy(nowMs);
  }

  #lessBusy(nowMs: number): Endpoint | null {
    const used = this.#used;
    const first = this.#draw(-1);
    const one = used[first];
    if (one === undefined || used.length === 1) return one ?? null;
    const second = this.#draw(first);
    const other = used[second] as Endpoint;
    const oneWeight = this.#weights[first] as number;
    const otherWeight = this.#weights[second] as number;
    // On a tie the first one drawn wins, so that idle endpoints are chosen by weight.
    return one.load(nowMs) * otherWeight <= other.load(nowMs) * oneWeight ? one : other;
  }

  /** Draws the index of an endpoint by weight, except `except`. */
  #draw(except: number): number {
    const sums = this.#sums;
    const last = sums.length - 1;
    const left = except < 0 ? 0 : (this.#weights[except] as number);
    let point = this.#random() * ((sums[last] ?? 0) - left);
    if (except >= 0 && point >= (sums[except] as number) - left) point += left;
    let [low, high] = [0, last];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] as number) > point) high = middle;
      else low = middle + 1;
    }
    // Rounding may leave the sum slightly too small.
    return low === except ? (low === 0 ? 1 : low - 1) : low;
  }

  #ofCaller(caller: string): Endpoint | null {
    const hash = textHash(caller);
    let best: Endpoint | null = null;
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < this.#used.length; i++) {
      const endpoint = this.#used[i] as Endpoint;
      const rank = rankOf(hash, endpoint.nameHash, this.#weights[i] as number);
      if (rank < least) [best, least] = [endpoint, rank];
    }
    return best;
  }

  /** Prefers endpoints that are not out. */
  #chooseUntried(nowMs: number, caller: string, tried: readonly Endpoint[]): Endpoint | null {
    const fit = this.#used.filter(endpoint => !tried.includes(endpoint));
    const left = fit.length > 0 ? fit : this.#all.filter(endpoint => !tried.includes(endpoint));
    if (left.length === 0) return null;
    const rest = new Balancer<Endpoint>(this.#random);
    rest.use(left, this.#balance);
    return rest.choose(nowMs, caller, []);
  }
}
