import type { Clock } from '../../core/index.ts';
import { AdoptedRestrictions } from './adopted-restrictions.ts';
import {
  digestOfWhom,
  type HeldRestriction,
  HeldRestrictions,
  isOver,
  prolonged,
  slackOf,
} from './held-restrictions.ts';
import { Lifts } from './lifts.ts';
import type {
  AnonymousRestriction,
  Client,
  Lift,
  Restricted,
  RestrictedKind,
  Restriction,
  RestrictionListener,
  RestrictionsOptions,
} from './restriction.ts';
import { RestrictionList } from './restriction-list.ts';

/** An announcement comes back prolonged by the time it travelled; differences up to this are ignored. */
const ECHO_MS = 250;

/**
 * Knows which clients are restricted now. Every request asks it first, so a check is one lookup, or less while there are no
 * restrictions. Those of other gateways are known only by a digest until the client sends a request: while any exist, each
 * check of that kind computes a digest.
 */
export class Restrictions {
  /** What operators are shown. */
  readonly listed: RestrictionList;
  readonly #clock: Clock;
  readonly #listener: RestrictionListener;
  readonly #maxRestrictions: number;
  readonly #others: Pick<RestrictionsOptions, 'announce' | 'announceLift'>;
  readonly #held = new HeldRestrictions();
  readonly #adopted = new AdoptedRestrictions();
  readonly #lifts = new Lifts();
  readonly #whenLifted: ((restriction: Restriction) => void)[] = [];
  #isOnList: (key: string) => boolean = () => false;
  /** No restriction ends before this. */
  #nextEndMs = Number.POSITIVE_INFINITY;

  constructor(options: RestrictionsOptions) {
    this.#clock = options.clock;
    this.listed = new RestrictionList(options.clock, this.#held, this.#adopted);
    this.#listener = options.listener;
    this.#maxRestrictions = options.maxRestrictions ?? 100_000;
    this.#others = options;
  }

  /** Restrictions that refuse a client here. */
  get size(): number {
    return this.#held.size + this.#adopted.refusing;
  }

  /** Restrictions of other gateways whose clients have not been seen here. */
  get adopted(): number {
    return this.#adopted.refusing;
  }

  /**
   * Sets who is never restricted; `named`: those that the list names one by one. Lifts restrictions of clients known by name,
   * for the gateways that know, now or later, the digest alone.
   */
  neverRestrict(isOnList: (key: string) => boolean, named: Iterable<Client> = []): void {
    this.#isOnList = isOnList;
    this.#adopted.spareAll(new Set(Array.from(named, client => digestOfWhom({ ...client, webhook: '' }))));
    for (const { restriction, digest } of this.#held.all()) if (isOnList(restriction.key)) this.lift(digest);
  }

  /** Whether nothing that comes from this address or principal may lead to a restriction. */
  isExempt(key: string): boolean {
    return this.#isOnList(key);
  }

  /** Restricts a client for `forMs`. Does nothing if it is on the allow list or restricted for longer. */
  restrict(whom: Restricted, forMs: number): void {
    if (this.isExempt(whom.key)) return;
    const held = this.#hold(whom, this.#nowMs() + forMs, forMs);
    if (held === null) return;
    const { digest, lifts } = held;
    this.#others.announce?.({ kind: whom.kind, digest, reason: whom.reason, forMs, lifts });
  }

  /** Calls this for each client that is lifted, here or elsewhere, whose name is known here. */
  onLift(lifted: (restriction: Restriction) => void): void {
    this.#whenLifted.push(lifted);
  }

  /** Lifts the restriction with this digest, at all gateways. False if there was no such restriction. */
  lift(digest: string): boolean {
    const untilMs = (this.#held.withDigest(digest) ?? this.#adopted.find(digest)?.adopted)?.untilMs;
    if (untilMs === undefined) return false;
    const lift = this.#lifts.add(digest, untilMs, this.#nowMs());
    this.#drop(lift);
    this.#others.announceLift?.(lift);
    return true;
  }

  /** Lifts what another gateway lifted. */
  adoptLift(lift: Lift): void {
    if (this.#lifts.learn(lift, this.#nowMs())) this.#drop(lift);
  }

  /** All lifts that another gateway could contradict, as they would be announced now. */
  lifted(): Iterable<Lift> {
    return this.#lifts.running(this.#nowMs());
  }

  /** Adopts a restriction of another gateway. Never shortens one held here. */
  adopt({ kind, digest, reason, forMs, lifts }: AnonymousRestriction): void {
    if (lifts < this.#lifts.of(digest)) return;
    const untilMs = this.#nowMs() + forMs;
    const held = this.#held.withDigest(digest);
    if (held !== undefined) {
      if (untilMs > held.untilMs + ECHO_MS || lifts > held.lifts) this.#keep(prolonged(held, untilMs, lifts));
      return;
    }
    if (!this.#adopted.has(kind, digest) && !this.#hasRoom()) {
      this.#listener.noRoom({ kind, key: digest, webhook: '', reason, untilEpochMs: this.#epochOf(untilMs) });
      return;
    }
    const slackMs = slackOf(forMs);
    this.#adopted.add(kind, digest, { reason, untilMs, slackMs, lifts });
    this.#nextEndMs = Math.min(this.#nextEndMs, untilMs - slackMs);
  }

  /** All restrictions in force, as they would be announced now. */
  *running(): Generator<AnonymousRestriction> {
    const nowMs = this.#nowMs();
    yield* this.#held.running(nowMs);
    yield* this.#adopted.running(nowMs);
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
    this.#lifts.sweep(nowMs);
    if (nowMs < this.#nextEndMs) return;
    this.#nextEndMs = Number.POSITIVE_INFINITY;
    for (const held of this.#held.all()) {
      if (isOver(held, nowMs)) this.#release(held);
      else this.#nextEndMs = Math.min(this.#nextEndMs, held.untilMs - held.slackMs);
    }
    this.#nextEndMs = Math.min(this.#nextEndMs, this.#adopted.sweep(nowMs));
  }

  /** Null: nothing changed. */
  #hold(whom: Restricted, untilMs: number, forMs: number): HeldRestriction | null {
    const { kind, key, webhook } = whom;
    const before = this.#held.get(kind, key, webhook);
    if (before !== undefined && before.untilMs >= untilMs) return null;
    const restriction = { ...whom, untilEpochMs: this.#epochOf(untilMs) };
    if (before === undefined && !this.#hasRoom()) {
      this.#listener.noRoom(restriction);
      return null;
    }
    const digest = before?.digest ?? digestOfWhom(whom);
    const lifts = this.#lifts.of(digest);
    return this.#begin({ restriction, digest, untilMs, slackMs: slackOf(forMs), lifts });
  }

  #begin(held: HeldRestriction): HeldRestriction {
    this.#keep(held);
    this.#listener.restricted(held.restriction);
    return held;
  }

  #keep(held: HeldRestriction): void {
    this.#held.set(held);
    this.#nextEndMs = Math.min(this.#nextEndMs, held.untilMs - held.slackMs);
  }

  #hasRoom(): boolean {
    if (this.#held.size + this.#adopted.size < this.#maxRestrictions) return true;
    this.sweep();
    return this.#held.size + this.#adopted.size < this.#maxRestrictions;
  }

  #waitMs(kind: RestrictedKind, key: string, webhook: string): number {
    if (this.#held.isEmpty(kind) && this.#adopted.isEmpty(kind)) return 0;
    const held = this.#held.get(kind, key, webhook) ?? this.#meet(kind, key, webhook);
    if (held === null) return 0;
    const nowMs = this.#nowMs();
    if (!isOver(held, nowMs)) return held.untilMs - nowMs;
    this.#release(held);
    return 0;
  }

  /** Turns an adopted restriction into one held here when its client sends a request. */
  #meet(kind: RestrictedKind, key: string, webhook: string): HeldRestriction | null {
    if (this.#adopted.isEmpty(kind)) return null;
    const digest = digestOfWhom({ kind, key, webhook });
    const adopted = this.#adopted.get(kind, digest);
    if (adopted === undefined || isOver(adopted, this.#nowMs())) return null;
    if (this.isExempt(key)) {
      this.#adopted.spare(digest);
      return null;
    }
    this.#adopted.delete(kind, digest);
    const { reason, untilMs, slackMs, lifts } = adopted;
    const restriction = { kind, key, webhook, reason, untilEpochMs: this.#epochOf(untilMs) };
    return this.#begin({ restriction, digest, untilMs, slackMs, lifts });
  }

  /** Ends what a lift is about, unless it began later. */
  #drop({ digest, count }: Lift): void {
    const held = this.#held.withDigest(digest);
    if (held !== undefined && held.lifts < count) {
      this.#release(held);
      for (const lifted of this.#whenLifted) lifted(held.restriction);
    }
    const found = this.#adopted.find(digest);
    if (found !== null && found.adopted.lifts < count) this.#adopted.delete(found.kind, digest);
  }

  #release(held: HeldRestriction): void {
    this.#held.delete(held);
    this.#listener.released(held.restriction);
  }

  #epochOf(monotonicMs: number): number {
    return Math.floor(this.#clock.epochMs()) + monotonicMs - this.#nowMs();
  }

  #nowMs(): number {
    return Math.floor(this.#clock.monotonicMs());
  }
}
