import { type Clock, digestOf } from '../../core/index.ts';
import { AdoptedRestrictions } from './adopted-restrictions.ts';
import type {
  AnonymousRestriction,
  Restricted,
  RestrictedKind,
  Restriction,
  RestrictionListener,
} from './restriction.ts';

export interface RestrictionsOptions {
  readonly clock: Clock;
  readonly listener: RestrictionListener;
  /** Called for each restriction that begins here, for other gateways to adopt. Default null: there are no others. */
  readonly announce?: ((restriction: AnonymousRestriction) => void) | null;
  /** Most restrictions held; one in force is never evicted. Default 100,000. */
  readonly maxRestrictions?: number;
}

interface Held {
  readonly restriction: Restriction;
  readonly digest: string;
  /** On the monotonic clock. */
  readonly untilMs: number;
  readonly slackMs: number;
}

/** A restriction ends a little before the moment announced, like a window. */
const SLACK_MS = 20;
const MAX_SLACK = 0.02;
/** An announcement comes back prolonged by the time it travelled; differences up to this are ignored. */
const ECHO_MS = 250;

/**
 * Knows which clients are restricted now. Every request asks it first, so a check is one lookup, or less while there are no
 * restrictions. Those of other gateways are known only by a digest until the client sends a request: while any exist, each
 * check of that kind computes a digest.
 */
export class Restrictions {
  readonly #clock: Clock;
  readonly #listener: RestrictionListener;
  readonly #maxRestrictions: number;
  readonly #announce: ((restriction: AnonymousRestriction) => void) | null;
  readonly #adopted = new AdoptedRestrictions();
  /** The restrictions held here by digest, if there are other gateways. */
  readonly #byDigest = new Map<string, Held>();
  readonly #held: Readonly<Record<RestrictedKind, Map<string, Held>>> = {
    address: new Map(),
    principal: new Map(),
    webhook: new Map(),
  };
  #isOnList: (key: string) => boolean = () => false;
  /** No restriction ends before this. */
  #nextEndMs = Number.POSITIVE_INFINITY;

  constructor({ clock, listener, announce = null, maxRestrictions = 100_000 }: RestrictionsOptions) {
    this.#clock = clock;
    this.#listener = listener;
    this.#maxRestrictions = maxRestrictions;
    this.#announce = announce;
  }

  /** Restrictions held now. */
  get size(): number {
    const { address, principal, webhook } = this.#held;
    return address.size + principal.size + webhook.size + this.#adopted.size;
  }

  /** Restrictions of other gateways whose clients have not been seen here. */
  get adopted(): number {
    return this.#adopted.size;
  }

  /** Sets the addresses and principals that are never restricted, and releases those of them that are. */
  neverRestrict(isOnList: (key: string) => boolean): void {
    this.#isOnList = isOnList;
    for (const held of Object.values(this.#held).flatMap(kind => [...kind.values()])) {
      if (isOnList(held.restriction.key)) this.#release(held);
    }
  }

  /** Whether nothing that comes from this address or principal may lead to a restriction. */
  isExempt(key: string): boolean {
    return this.#isOnList(key);
  }

  /** Restricts a client for `forMs`. Does nothing if it is on the allow list or restricted for longer. */
  restrict(whom: Restricted, forMs: number): void {
    if (this.isExempt(whom.key)) return;
    const held = this.#hold(whom, this.#nowMs() + forMs, forMs);
    if (held !== null) this.#announce?.({ kind: whom.kind, digest: held.digest, reason: whom.reason, forMs });
  }

  /** Adopts a restriction of another gateway. Never shortens one held here. */
  adopt({ kind, digest, reason, forMs }: AnonymousRestriction): void {
    const untilMs = this.#nowMs() + forMs;
    const held = this.#byDigest.get(digest);
    if (held !== undefined) {
      if (untilMs > held.untilMs + ECHO_MS) this.#prolong(held, untilMs);
      return;
    }
    if (!this.#adopted.has(kind, digest) && !this.#hasRoom()) {
      const untilEpochMs = Math.floor(this.#clock.epochMs()) + forMs;
      this.#listener.noRoom({ kind, key: digest, webhook: '', reason, untilEpochMs });
      return;
    }
    const slackMs = slackOf(forMs);
    this.#adopted.add(kind, digest, { reason, untilMs, slackMs });
    this.#nextEndMs = Math.min(this.#nextEndMs, untilMs - slackMs);
  }

  /** All restrictions in force, as they would be announced now. */
  *running(): Generator<AnonymousRestriction> {
    const nowMs = this.#nowMs();
    for (const { restriction, digest, untilMs } of this.#byDigest.values()) {
      const { kind, reason } = restriction;
      if (untilMs > nowMs) yield { kind, digest, reason, forMs: untilMs - nowMs };
    }
    yield* this.#adopted.running(nowMs);
  }

  /** Those held here, with whom they are about: at most `max`. */
  inForce(max: number): Restriction[] {
    const nowMs = this.#nowMs();
    const found: Restriction[] = [];
    for (const kind of Object.values(this.#held)) {
      for (const held of kind.values()) {
        if (found.length >= max) return found;
        if (!isOver(held, nowMs)) found.push(held.restriction);
      }
    }
    return found;
  }

  isRestricted({ kind, key, webhook }: Restricted): boolean {
    return this.#waitMs(kind, key, webhook) > 0;
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

  /** Releases expired ones. Call it every second or so, so that the listener hears in time. */
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
    this.#nextEndMs = Math.min(this.#nextEndMs, this.#adopted.sweep(nowMs));
  }

  /** Null: nothing changed. */
  #hold(whom: Restricted, untilMs: number, forMs: number): Held | null {
    const { kind, key, webhook } = whom;
    const place = mapKey(key, webhook);
    const before = this.#held[kind].get(place);
    if (before !== undefined && before.untilMs >= untilMs) return null;
    const untilEpochMs = Math.floor(this.#clock.epochMs()) + untilMs - this.#nowMs();
    const restriction = { ...whom, untilEpochMs };
    if (before === undefined && !this.#hasRoom()) {
      this.#listener.noRoom(restriction);
      return null;
    }
    const digest = before?.digest ?? (this.#announce === null ? '' : digestOfWhom(kind, key, webhook));
    const held = { restriction, digest, untilMs, slackMs: slackOf(forMs) };
    this.#keep(held);
    this.#listener.restricted(restriction);
    return held;
  }

  #keep(held: Held): void {
    const { kind, key, webhook } = held.restriction;
    this.#held[kind].set(mapKey(key, webhook), held);
    if (this.#announce !== null) this.#byDigest.set(held.digest, held);
    this.#nextEndMs = Math.min(this.#nextEndMs, held.untilMs - held.slackMs);
  }

  #prolong(held: Held, untilMs: number): void {
    const { restriction } = held;
    const untilEpochMs = restriction.untilEpochMs + untilMs - held.untilMs;
    this.#keep({ ...held, restriction: { ...restriction, untilEpochMs }, untilMs });
  }

  #hasRoom(): boolean {
    if (this.size >= this.#maxRestrictions) this.sweep();
    return this.size < this.#maxRestrictions;
  }

  #waitMs(kind: RestrictedKind, key: string, webhook: string): number {
    if (this.#held[kind].size === 0 && this.#adopted.isEmpty(kind)) return 0;
    const held = this.#held[kind].get(mapKey(key, webhook)) ?? this.#meet(kind, key, webhook);
    if (held === null) return 0;
    const nowMs = this.#nowMs();
    if (!isOver(held, nowMs)) return held.untilMs - nowMs;
    this.#release(held);
    return 0;
  }

  /** Turns an adopted restriction into one held here when its client sends a request. */
  #meet(kind: RestrictedKind, key: string, webhook: string): Held | null {
    if (this.#adopted.isEmpty(kind)) return null;
    const digest = digestOfWhom(kind, key, webhook);
    const adopted = this.#adopted.get(kind, digest);
    if (adopted === undefined || isOver(adopted, this.#nowMs())) return null;
    if (this.isExempt(key)) return null;
    this.#adopted.delete(kind, digest);
    const { reason, untilMs, slackMs } = adopted;
    const untilEpochMs = Math.floor(this.#clock.epochMs()) + untilMs - this.#nowMs();
    const held = { restriction: { kind, key, webhook, reason, untilEpochMs }, digest, untilMs, slackMs };
    this.#keep(held);
    this.#listener.restricted(held.restriction);
    return held;
  }

  #release({ restriction, digest }: Held): void {
    this.#held[restriction.kind].delete(mapKey(restriction.key, restriction.webhook));
    this.#byDigest.delete(digest);
    this.#listener.released(restriction);
  }

  #nowMs(): number {
    return Math.floor(this.#clock.monotonicMs());
  }
}

function digestOfWhom(kind: RestrictedKind, key: string, webhook: string): string {
  return digestOf(`${kind} ${key} ${webhook}`);
}

function slackOf(forMs: number): number {
  return Math.min(SLACK_MS, forMs * MAX_SLACK);
}

function isOver(held: { readonly untilMs: number; readonly slackMs: number }, nowMs: number): boolean {
  return nowMs >= held.untilMs - held.slackMs;
}

/** Unambiguous, because no address contains a space. */
function mapKey(key: string, webhook: string): string {
  return webhook === '' ? key : `${key} ${webhook}`;
}
