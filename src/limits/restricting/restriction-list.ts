import type { Clock } from '../../core/index.ts';
import {
  digestOfWhom,
  type Entry,
  type Held,
  isHeld,
  isOver,
  type ListedRestriction,
  type RestrictedClient,
} from './restriction.ts';
import type { RestrictionTable, RestrictionTables } from './restriction-table.ts';

/** Shows operators the restrictions in force: those of clients known here by name, and those known by their digest alone. */
export class RestrictionList {
  readonly #clock: Clock;
  readonly #tables: RestrictionTables;

  constructor(clock: Clock, tables: RestrictionTables) {
    this.#clock = clock;
    this.#tables = tables;
  }

  /** Lists restrictions of clients known by name, at most `max`. Each table gets its share, so that none hides the others. */
  byName(max: number): Held[] {
    const nowMs = this.#nowMs();
    const found: Held[] = [];
    for (const [i, table] of this.#tables.all.entries()) {
      const share = Math.ceil((max - found.length) / (this.#tables.all.length - i));
      found.push(...firstNamed(table, share, nowMs));
    }
    return found;
  }

  *all(): Generator<ListedRestriction> {
    const nowMs = this.#nowMs();
    for (const table of this.#tables.all)
      for (const entry of table.all()) if (this.#isShown(entry, nowMs)) yield entry;
  }

  /** Lists the restrictions with this digest, an automatic one and an operator's. The one that ends last comes first. */
  withDigest(digest: string): ListedRestriction[] {
    const nowMs = this.#nowMs();
    return this.#tables
      .withDigest(digest)
      .filter(entry => this.#isShown(entry, nowMs))
      .sort((one, other) => other.untilMs - one.untilMs);
  }

  ofClient(client: RestrictedClient): ListedRestriction[] {
    return this.withDigest(digestOfWhom({ ...client, webhook: '' }));
  }

  #isShown(entry: Entry, nowMs: number): boolean {
    return !isOver(entry, nowMs) && (isHeld(entry) || !this.#tables.spared.has(entry.digest));
  }

  #nowMs(): number {
    return Math.floor(this.#clock.monotonicMs());
  }
}

function firstNamed(table: RestrictionTable, max: number, nowMs: number): Held[] {
  const found: Held[] = [];
  for (const entry of table.all()) {
    if (found.length >= max) return found;
    if (isHeld(entry) && !isOver(entry, nowMs)) found.push(entry);
  }
  return found;
}
