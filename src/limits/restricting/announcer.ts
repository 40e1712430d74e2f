import type { Clock } from '../../core/index.ts';
import type { AnonymousRestriction, Lift, Restriction } from './restriction.ts';
import { isNamed } from './restriction.ts';

/** Those who are told of restrictions: the other threads of this process, and other gateways. */
export interface Others {
  /**
   * Whether this is the main thread, which does what must happen once per process. When a restriction ends, the client's offences
   * are forgotten by the thread that ended it, or by the main thread if another process did.
   */
  readonly isMain: boolean;
  /** A restriction began or was prolonged here, and they adopt it. */
  began(restriction: AnonymousRestriction): void;
  /** A restriction was lifted here, and they lift it as well. */
  lifted(lift: Lift): void;
  /** A restriction was evicted here before its end: what is stored for gateways that start later stays bounded. */
  evicted(restriction: AnonymousRestriction): void;
  /** The client of another process's restriction was first seen here, and the threads learn its name. */
  met(restriction: AnonymousRestriction): void;
}

/** For a gateway on its own, in one thread. */
export const NO_OTHERS: Others = {
  isMain: true,
  began() {},
  lifted() {},
  evicted() {},
  met() {},
};

/** Tells others what happens to restrictions here. */
export class Announcer {
  readonly #clock: Clock;
  readonly #others: Others;

  constructor(clock: Clock, others: Others) {
    this.#clock = clock;
    this.#others = others;
  }

  began(restriction: Restriction, forMs: number): void {
    this.#others.began({ ...this.announced(restriction), forMs });
  }

  lifted(lift: Lift): void {
    this.#others.lifted(lift);
  }

  evicted(restriction: Restriction): void {
    this.#others.evicted(this.announced(restriction));
  }

  met(restriction: Restriction): void {
    this.#others.met(this.announced(restriction));
  }

  /** Whether this thread forgets offences of clients whose restrictions were ended by other processes. */
  get isResponsibleForOthers(): boolean {
    return this.#others.isMain;
  }

  /** Returns the restriction as it is announced now. */
  announced(restriction: Restriction): AnonymousRestriction {
    const { kind, digest, reason, untilMs, lifts, sinceEpochMs, network, owner } = restriction;
    const told = { kind, digest, reason, forMs: untilMs - this.nowMs(), lifts, sinceEpochMs, network, owner };
    if (!isNamed(restriction)) return told;
    return { ...told, whom: { key: restriction.key, webhook: restriction.webhook, untilMs } };
  }

  /** A moment of the monotonic clock, in milliseconds since the epoch. */
  epochOf(monotonicMs: number): number {
    return Math.floor(this.#clock.epochMs()) + monotonicMs - this.nowMs();
  }

  nowMs(): number {
    return Math.floor(this.#clock.monotonicMs());
  }
}
