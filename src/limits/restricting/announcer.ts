import type { Clock } from '../../core/index.ts';
import type { AnonymousRestriction, Lift, Restriction } from './restriction.ts';
import { isNamed, newRestriction } from './restriction.ts';

export interface AnnouncerOptions {
  readonly clock: Clock;
  /** Called for each restriction that begins here, so that other gateways adopt it. Default null: there are none. */
  readonly announce?: ((restriction: AnonymousRestriction) => void) | null;
  /** Called for each restriction that is lifted here, so that other gateways lift it as well. Default null. */
  readonly announceLift?: ((lift: Lift) => void) | null;
  /** Called for each restriction evicted here before its end, so that other gateways store a bounded number. Default null. */
  readonly withdraw?: ((restriction: AnonymousRestriction) => void) | null;
  /**
   * This thread's role if several threads of a process share restrictions: they exchange names, and count offences together.
   * Default null: there is only one.
   */
  readonly thread?: {
    /**
     * Whether this is the main thread, which does what must happen once per process. When a restriction ends, the client's offences
     * are forgotten by the thread that ended it, or by the main thread if another process did.
     */
    readonly isMain: boolean;
    /** Called for each restriction of another process when its client is first seen here. */
    met(restriction: AnonymousRestriction): void;
  } | null;
}

/** An announcement comes back from other processes, prolonged by its travel time; differences up to this are ignored. */
const ECHO_MS = 250;

/** Translates between restrictions and what gateways, and the threads of one, tell each other about them. */
export class Announcer {
  readonly #options: AnnouncerOptions;

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  began(restriction: Restriction, forMs: number): void {
    this.#options.announce?.({ ...this.announced(restriction), forMs });
  }

  lifted(lift: Lift): void {
    this.#options.announceLift?.(lift);
  }

  evicted(restriction: Restriction): void {
    this.#options.withdraw?.(this.announced(restriction));
  }

  met(restriction: Restriction): void {
    this.#options.thread?.met(this.announced(restriction));
  }

  /** Whether this thread forgets offences of clients whose restrictions were ended by other processes. */
  get isResponsibleForOthers(): boolean {
    return this.#options.thread?.isMain ?? true;
  }

  /** Returns the restriction as it is announced to other gateways now. */
  announced(restriction: Restriction): AnonymousRestriction {
    const { kind, digest, reason, untilMs, lifts, sinceEpochMs, network, owner } = restriction;
    const told = { kind, digest, reason, forMs: untilMs - this.nowMs(), lifts, sinceEpochMs, network, owner };
    if (!isNamed(restriction) || (this.#options.thread ?? null) === null) return told;
    return { ...told, whom: { key: restriction.key, webhook: restriction.webhook, untilMs } };
  }

  restrictionOf(told: AnonymousRestriction): Restriction {
    const { kind, digest, reason, forMs, lifts, network, owner } = told;
    return newRestriction({
      kind,
      key: null,
      webhook: '',
      reason,
      digest,
      lifts,
      network,
      owner,
      sinceEpochMs: this.sinceOf(told),
      untilEpochMs: this.epochOf(this.nowMs()) + forMs,
      untilMs: this.endOf(told),
    });
  }

  /** Whether a restriction reported by another gateway ends later than the one known here, or began after a later lift. */
  goesBeyond(told: AnonymousRestriction, before: Restriction): boolean {
    if (told.lifts !== before.lifts) return told.lifts > before.lifts;
    const echoMs = isNamed(before) && told.whom === undefined ? ECHO_MS : 0;
    return this.endOf(told) > before.untilMs + echoMs;
  }

  /** When a restriction ends here. Threads of a process share a clock, and none refuses longer than the others. */
  endOf({ forMs, whom }: AnonymousRestriction): number {
    return whom?.untilMs ?? this.nowMs() + forMs;
  }

  /** When a restriction began. The clock of the announcing gateway may be ahead. */
  sinceOf({ sinceEpochMs }: AnonymousRestriction): number {
    const epochMs = this.epochOf(this.nowMs());
    return Math.min(sinceEpochMs ?? epochMs, epochMs);
  }

  epochOf(monotonicMs: number): number {
    return Math.floor(this.#options.clock.epochMs()) + monotonicMs - this.nowMs();
  }

  nowMs(): number {
    return Math.floor(this.#options.clock.monotonicMs());
  }
}
