import type { Clock } from '../core/index.ts';

/** What is refused: everything of an address, everything of a principal, or one address on one webhook. */
export type RestrictedKind = 'address' | 'principal' | 'webhook';

/** Why, in the words of the configuration. */
export type RestrictionReason = 'invalid_requests' | 'webhook_not_found' | 'ignored_refusals';

/** A temporary refusal. */
export interface Restriction {
  readonly kind: RestrictedKind;
  /** The address, the principal, or the address of the webhook's caller. */
  readonly key: string;
  /** Hash of the webhook; empty for the other kinds. */
  readonly webhook: string;
  readonly reason: RestrictionReason;
  /** When it ends, in milliseconds since the epoch, as told at its beginning. */
  readonly untilEpochMs: number;
}

/** Hears of restrictions, for logs and for streams that have to be closed. Must not throw. */
export interface RestrictionListener {
  restricted(restriction: Restriction): void;
  released(restriction: Restriction): void;
  /** There was no room for one more: whoever earned it goes on unrestricted. To alert on. */
  noRoom(restriction: Restriction): void;
}

export interface RestrictionsOptions {
  readonly clock: Clock;
  readonly listener: RestrictionListener;
  /** Restrictions held at most; one that runs never gives way. Default 100,000. */
  readonly maxRestrictions?: number;
}

interface Held {
  readonly restriction: Restriction;
  /** By the monotonic clock. */
  readonly untilMs: number;
  readonly slackMs: number;
}

/** A restriction ends a little before the moment announced, like a window. */
const SLACK_MS = 20;
const MOST_SLACK = 0.02;

/** Who is refused at the moment. Asked first for every request, so a look is one look-up, and less while nobody is. */
export class Restrictions {
  readonly #clock: Clock;
  readonly #listener: RestrictionListener;
  readonly #most: number;
  readonly #held: Readonly<Record<RestrictedKind, Map<string, Held>>> = {
    address: new Map(),
    principal: new Map(),
    webhook: new Map(),
  };
  #isOnList: (address: string) => boolean = () => false;
  /** No restriction ends before. */
  #nextEndMs = Number.POSITIVE_INFINITY;

  constructor({ clock, listener, maxRestrictions = 100_000 }: RestrictionsOptions) {
    this.#clock = clock;
    this.#listener = listener;
    this.#most = maxRestrictions;
  }

  /** Restrictions held now. */
  get size(): number {
    return this.#held.address.size + this.#held.principal.size + this.#held.webhook.size;
  }

  /** The allow list from now on: addresses that are never restricted. Those that are on it are released at once. */
  neverRestrict(isOnList: (address: string) => boolean): void {
    this.#isOnList = isOnList;
    for (const held of [...this.#held.address.values(), ...this.#held.webhook.values()]) {
      if (isOnList(held.restriction.key)) this.#release(held);
    }
  }

  /** Whether nothing that comes from this address may lead to a restriction. */
  isExempt(address: string): boolean {
    return this.#isOnList(address);
  }

  /** Refuses the address from now on, for so long. One that is on the allow list, or restricted for longer, stays as it is. */
  restrictAddress(address: string, reason: RestrictionReason, forMs: number): void {
    if (!this.isExempt(address)) this.#restrict('address', address, '', reason, forMs);
  }

  restrictPrincipal(principal: string, reason: RestrictionReason, forMs: number): void {
    this.#restrict('principal', principal, '', reason, forMs);
  }

  /** Refuses one address on one webhook. `webhook`: its hash, never its secrets. */
  restrictWebhook(address: string, webhook: string, reason: RestrictionReason, forMs: number): void {
    if (!this.isExempt(address)) this.#restrict('webhook', address, webhook, reason, forMs);
  }

  /** Milliseconds until the address is released, at least 1; 0 when it is not restricted. */
  addressWaitMs(address: string): number {
    return this.#waitMs('address', address, '');
  }

  principalWaitMs(principal: string): number {
    return this.#waitMs('principal', principal, '');
  }

  webhookWaitMs(address: string, webhook: string): number {
    return this.#waitMs('webhook', address, webhook);
  }

  /** Releases those whose time is over. To be called every second or so, so that the listener hears of it in time. */
  sweep(): void {
    const nowMs = this.#nowMs();
    if (nowMs < this.#nextEndMs) return;
    this.#nextEndMs = Number.POSITIVE_INFINITY;
    for (const kind of Object.values(this.#held)) {
      for (const held of kind.values()) {
        if (isOver(held, nowMs)) this.#release(held);
        else this.#nextEndMs = Math.min(this.#nextEndMs, held.untilMs - held.slackMs);
      }
    }
  }

  #restrict(
    kind: RestrictedKind,
    key: string,
    webhook: string,
    reason: RestrictionReason,
    forMs: number,
  ): void {
    const nowMs = this.#nowMs();
    const untilMs = nowMs + forMs;
    const before = this.#held[kind].get(mapKey(key, webhook));
    if (before !== undefined && before.untilMs >= untilMs) return;
    const untilEpochMs = Math.floor(this.#clock.epochMs()) + forMs;
    const restriction = { kind, key, webhook, reason, untilEpochMs };
    if (before === undefined && this.size >= this.#most) {
      this.sweep();
      if (this.size >= this.#most) {
        this.#listener.noRoom(restriction);
        return;
      }
    }
    const slackMs = Math.min(SLACK_MS, forMs * MOST_SLACK);
    this.#held[kind].set(mapKey(restriction.key, webhook), { restriction, untilMs, slackMs });
    this.#nextEndMs = Math.min(this.#nextEndMs, untilMs - slackMs);
    this.#listener.restricted(restriction);
  }

  #waitMs(kind: RestrictedKind, key: string, webhook: string): number {
    if (this.#held[kind].size === 0) return 0;
    const held = this.#held[kind].get(mapKey(key, webhook));
    if (held === undefined) return 0;
    const nowMs = this.#nowMs();
    if (!isOver(held, nowMs)) return held.untilMs - nowMs;
    this.#release(held);
    return 0;
  }

  #release({ restriction }: Held): void {
    this.#held[restriction.kind].delete(mapKey(restriction.key, restriction.webhook));
    this.#listener.released(restriction);
  }

  #nowMs(): number {
    return Math.floor(this.#clock.monotonicMs());
  }
}

function isOver(held: Held, nowMs: number): boolean {
  return nowMs >= held.untilMs - held.slackMs;
}

/** No address holds a blank. */
function mapKey(key: string, webhook: string): string {
  return webhook === '' ? key : `${key} ${webhook}`;
}
