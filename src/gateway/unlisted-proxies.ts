import { type Clock, ownString, type UnlistedProxy, type WarningListener } from '../core/index.ts';
import { AddressSet, addressKey, forwardedAddress } from '../wire/http/index.ts';

const HOUR_MS = 3_600_000;
/** How long a report stays valid: the next one may take up to an hour. */
const REPORT_MS = 2 * HOUR_MS;
const MAX_WATCHED = 64;

/**
 * How much a sender has to forward within an hour to count as a proxy: more than a scanner, which tries only a few addresses. A
 * public sender needs more, since it rarely is the operator's, and anyone can invent clients.
 */
const ENOUGH = {
  private: { requests: 50, clients: 10 },
  public: { requests: 500, clients: 100 },
} as const;

/** RFC 1918, 3927, 6598, 4193 and 4291: where load balancers and containers usually run. */
const PRIVATE = new AddressSet([
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '100.64.0.0/10', '127.0.0.0/8'],
  ...['fc00::/7', 'fe80::/10', '::1'],
]);
/** No real client has such an address. Scanners claim one because some servers trust it. */
const LOOPBACK = new AddressSet(['127.0.0.0/8', '0.0.0.0/8', '::1', '::']);

/**
 * Notices proxies that are missing from `trusted_proxies`: untrusted senders that forward for many clients. All these clients
 * share the limits and restrictions of one address, and nothing else would point to the cause.
 *
 * Watches a bounded number of senders. Private senders replace public ones, and reported ones stay.
 */
export class UnlistedProxies {
  readonly #clock: Clock;
  readonly #listener: WarningListener;
  readonly #watched = new Map<string, Watched>();

  constructor(clock: Clock, listener: WarningListener) {
    this.#clock = clock;
    this.#listener = listener;
  }

  /** Notes that an untrusted sender forwards for a client. `value`: the last line of the field. */
  saw(sender: string, field: UnlistedProxy['field'], value: string): void {
    const nowMs = this.#clock.monotonicMs();
    const key = addressKey(sender);
    const watched = this.#watched.get(key) ?? this.#watch(key, PRIVATE.has(sender), nowMs);
    if (watched === null) return;
    if (nowMs - watched.hourSinceMs >= HOUR_MS) watched.beginHour(nowMs);
    if (watched.saidThisHour) return;
    const client = forwardedAddress(field, value);
    if (client === null || !watched.counts(client)) return;
    if (watched.add(ownString(addressKey(client)))) this.#report(watched, sender, field, nowMs);
  }

  /** Recent reports of senders outside these networks. */
  reports(trusted: AddressSet): UnlistedProxy[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#watched.values()].flatMap(({ report, reportedMs }) =>
      report === null || nowMs - reportedMs >= REPORT_MS || trusted.has(report.address) ? [] : [report],
    );
  }

  #report(watched: Watched, sender: string, field: UnlistedProxy['field'], nowMs: number): void {
    const sinceMs = watched.report?.sinceMs ?? this.#clock.epochMs() - (nowMs - watched.hourSinceMs);
    const message = messageOf(sender, field, watched.isPrivate);
    watched.report = { address: sender, field, sinceMs, message };
    watched.reportedMs = nowMs;
    this.#listener.warned({ type: 'proxy', address: sender, field }, message);
  }

  #watch(key: string, isPrivate: boolean, nowMs: number): Watched | null {
    if (this.#watched.size >= MAX_WATCHED && !this.#makeRoom(isPrivate, nowMs)) return null;
    const watched = new Watched(isPrivate, nowMs);
    this.#watched.set(key, watched);
    return watched;
  }

  /** Stops watching the least important sender; among equals, the least active one. */
  #makeRoom(forPrivate: boolean, nowMs: number): boolean {
    let least = '';
    let leastWorth = Number.POSITIVE_INFINITY;
    for (const [key, watched] of this.#watched) {
      const worth = watched.worth(nowMs);
      if (worth < leastWorth) [least, leastWorth] = [key, worth];
    }
    const maxToGiveUp = forPrivate ? WORTH.reportedPrivate : WORTH.reportedPublic;
    return leastWorth < maxToGiveUp && this.#watched.delete(least);
  }
}

/** Added to a sender's count of requests, which is always smaller: it only decides between senders of one kind. */
const WORTH = { reportedPublic: 1_000, private: 2_000, reportedPrivate: 3_000 } as const;

/** A sender, and what it forwarded in this hour. */
class Watched {
  readonly isPrivate: boolean;
  hourSinceMs: number;
  report: UnlistedProxy | null = null;
  reportedMs = 0;
  saidThisHour = false;
  #requests = 0;
  readonly #clients = new Set<string>();

  constructor(isPrivate: boolean, nowMs: number) {
    this.isPrivate = isPrivate;
    this.hourSinceMs = nowMs;
  }

  beginHour(nowMs: number): void {
    this.hourSinceMs = nowMs;
    this.saidThisHour = false;
    this.#requests = 0;
    this.#clients.clear();
  }

  /** A public sender with private clients is another company's proxy, not one that the operator forgot to list. */
  counts(client: string): boolean {
    return !LOOPBACK.has(client) && (this.isPrivate || !PRIVATE.has(client));
  }

  /** Counts a request for this client. Returns true once there is enough for a report. */
  add(client: string): boolean {
    const enough = this.isPrivate ? ENOUGH.private : ENOUGH.public;
    this.#requests = Math.min(this.#requests + 1, enough.requests);
    if (this.#clients.size < enough.clients) this.#clients.add(client);
    if (this.#requests < enough.requests || this.#clients.size < enough.clients) return false;
    this.saidThisHour = true;
    this.#clients.clear();
    return true;
  }

  worth(nowMs: number): number {
    if (nowMs - Math.max(this.hourSinceMs, this.reportedMs) >= REPORT_MS) return 0;
    const reported = this.report !== null;
    if (this.isPrivate) return this.#requests + (reported ? WORTH.reportedPrivate : WORTH.private);
    return this.#requests + (reported ? WORTH.reportedPublic : 0);
  }
}

function messageOf(address: string, field: string, isPrivate: boolean): string {
  const cause = `${address} sends ${field} and is not in trusted_proxies: all of its clients count as one address`;
  return isPrivate ? cause : `${cause}. Add it only if it is a proxy of yours: anyone can send this field`;
}
