import type { Clock } from '../../core/index.ts';
import type { AdoptedRestrictions } from './adopted-restrictions.ts';
import { type HeldRestrictions, isOver } from './held-restrictions.ts';
import type { ListedRestriction, Restriction } from './restriction.ts';

/** Shows operators the restrictions in force: those of clients known here by name, and those known by their digest alone. */
export class RestrictionList {
  readonly #clock: Clock;
  readonly #held: HeldRestrictions;
  readonly #adopted: AdoptedRestrictions;

  constructor(clock: Clock, held: HeldRestrictions, adopted: AdoptedRestrictions) {
    this.#clock = clock;
    this.#held = held;
    this.#adopted = adopted;
  }

  /** Those of clients known by name: at most `max`. */
  byName(max: number): Restriction[] {
    const nowMs = this.#nowMs();
    const found: Restriction[] = [];
    for (const held of this.#held.all()) {
      if (found.length >= max) return found;
      if (!isOver(held, nowMs)) found.push(held.restriction);
    }
    return found;
  }

  *all(): Generator<ListedRestriction> {
    const [nowMs, nowEpochMs] = [this.#nowMs(), Math.floor(this.#clock.epochMs())];
    for (const held of this.#held.all())
      if (!isOver(held, nowMs)) yield { ...held.restriction, digest: held.digest };
    for (const { kind, digest, reason, forMs } of this.#adopted.running(nowMs))
      if (!this.#adopted.isSpared(digest))
        yield { kind, digest, reason, untilEpochMs: nowEpochMs + forMs, key: null };
  }

  /** One of them, or null. */
  withDigest(digest: string): ListedRestriction | null {
    const held = this.#held.withDigest(digest);
    if (held !== undefined) return { ...held.restriction, digest };
    const found = this.#adopted.find(digest);
    if (found === null || this.#adopted.isSpared(digest)) return null;
    const { reason, untilMs } = found.adopted;
    const untilEpochMs = Math.floor(this.#clock.epochMs()) + untilMs - this.#nowMs();
    return { kind: found.kind, digest, reason, untilEpochMs, key: null };
  }

  #nowMs(): number {
    return Math.floor(this.#clock.monotonicMs());
  }
}
