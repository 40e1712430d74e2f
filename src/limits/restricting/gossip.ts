import type { Announcer } from './announcer.ts';
import type { HeldRestrictions } from './held-restrictions.ts';
import type { AnonymousRestriction, Lift, Restriction } from './restriction.ts';
import { isNamed, isOver, newRestriction, prolonged } from './restriction.ts';
import type { RestrictionTable } from './restriction-table.ts';

/** An announcement comes back from other processes, prolonged by its travel time; differences up to this are ignored. */
const ECHO_MS = 250;

/** Adopts what other threads and gateways tell of restrictions, and tells those that start later what is known here. */
export class Gossip {
  readonly #held: HeldRestrictions;
  readonly #announcer: Announcer;

  constructor(held: HeldRestrictions, announcer: Announcer) {
    this.#held = held;
    this.#announcer = announcer;
  }

  /** Adopts a restriction from another gateway. Never shortens one held here. */
  adopt(told: AnonymousRestriction): void {
    const { digest, lifts, whom } = told;
    const held = this.#held;
    if (lifts < held.lifts.of(digest, this.#announcer.nowMs())) return;
    const table = held.tables.of(told);
    const before = table.withDigest(digest);
    if (before === undefined) held.add(this.#restrictionOf(told));
    else if (this.#goesBeyond(told, before)) this.#continue(table, before, told);
    const restriction = table.withDigest(digest);
    if (whom !== undefined && restriction !== undefined && !isNamed(restriction))
      held.identify(restriction, whom);
  }

  adoptLift(lift: Lift): void {
    if (this.#held.lifts.learn(lift, this.#announcer.nowMs()))
      this.#held.drop(lift, this.#announcer.isResponsibleForOthers);
  }

  /** Iterates over all current restrictions, as they would be announced now. */
  *running(): Generator<AnonymousRestriction> {
    const nowMs = this.#announcer.nowMs();
    for (const table of this.#held.tables.all)
      for (const each of table.all()) if (each.untilMs > nowMs) yield this.#announcer.announced(each);
  }

  /** Iterates over all lifts that another gateway could contradict, as they would be announced now. */
  lifted(): Iterable<Lift> {
    return this.#held.lifts.running(this.#announcer.nowMs());
  }

  /** Prolongs a restriction as told. If it is over, a new one begins, as after a sweep. */
  #continue(table: RestrictionTable, before: Restriction, told: AnonymousRestriction): void {
    if (isOver(before, this.#announcer.nowMs())) {
      this.#held.release(before);
      this.#held.add(this.#restrictionOf(told));
      return;
    }
    const { lifts, reason, whom } = told;
    const sinceEpochMs = lifts > before.lifts ? this.#sinceOf(told) : before.sinceEpochMs;
    const longer = { ...prolonged(before, this.#endOf(told)), lifts, reason, sinceEpochMs };
    if (isNamed(longer) && whom !== undefined) this.#held.prolong(longer);
    else table.set(longer);
  }

  #restrictionOf(told: AnonymousRestriction): Restriction {
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
      sinceEpochMs: this.#sinceOf(told),
      untilEpochMs: this.#announcer.epochOf(this.#announcer.nowMs()) + forMs,
      untilMs: this.#endOf(told),
    });
  }

  /** Whether a restriction told by another gateway ends later than the one known here, or began after a later lift. */
  #goesBeyond(told: AnonymousRestriction, before: Restriction): boolean {
    if (told.lifts !== before.lifts) return told.lifts > before.lifts;
    const echoMs = isNamed(before) && told.whom === undefined ? ECHO_MS : 0;
    return this.#endOf(told) > before.untilMs + echoMs;
  }

  /** When a restriction ends here. Threads of a process share a clock, and none refuses longer than the others. */
  #endOf({ forMs, whom }: AnonymousRestriction): number {
    return whom?.untilMs ?? this.#announcer.nowMs() + forMs;
  }

  /** When a restriction began. The clock of the announcing gateway may be ahead. */
  #sinceOf({ sinceEpochMs }: AnonymousRestriction): number {
    const epochMs = this.#announcer.epochOf(this.#announcer.nowMs());
    return Math.min(sinceEpochMs ?? epochMs, epochMs);
  }
}
