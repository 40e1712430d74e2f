import type { Limit, LimitRole } from './limit-definition.ts';

/**
 * The counters of one bucket's callers, of its resources, or of the global limit: all that compete for room with each other
 * and with nobody else.
 */
export interface Section {
  /** Empty for the global limit. */
  readonly bucket: string;
  readonly role: LimitRole;
  /** Whether the configuration in force has such limits. */
  isInForce: boolean;
  /** Counters that always find room here, whatever other sections hold. */
  reserved: number;
  /** Counters held now. */
  size: number;
  /** The counter looked at next when one has to give way; -1 while it holds none. */
  hand: number;
  /** Counters evicted before their Reset, since the start. */
  evictions: number;
  /** Decisions by the counter that stands in for those without room, since the start. */
  overflows: number;
}

/** The parts of the room that are reserved: one for the global limit alone, one parted evenly among all other sections. */
const RESERVED_PART = 4;

/**
 * Parts the room of a counter table, so that whoever fills its section takes nothing from another. A quarter is reserved for the
 * global limit, and a quarter is parted evenly among the sections of buckets. The rest is lent to whoever needs it. A section of
 * no configuration in force has the counters that it was lent, until they expire.
 */
export class Sections {
  readonly #capacity: number;
  readonly #byName = new Map<string, Section>();
  #lendable: number;
  #lent = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#lendable = capacity;
  }

  get all(): Iterable<Section> {
    return this.#byName.values();
  }

  /** The section of a limit. Numbers that are tried have one of their own: they must not crowd out those that hold. */
  of({ role, bucket, isTrial }: Limit): Section {
    const name = `${role} ${isTrial ? 'trial' : ''} ${bucket}`;
    let section = this.#byName.get(name);
    if (section === undefined) {
      section = newSection(bucket, role);
      this.#byName.set(name, section);
    }
    return section;
  }

  /** Parts the room among these limits, those of the configuration in force. Nobody loses a counter. */
  share(limits: Iterable<Limit>): void {
    const named = new Set<Section>();
    const global = new Set<Section>();
    for (const limit of limits) (limit.role === 'global' ? global : named).add(this.of(limit));
    const part = Math.floor(this.#capacity / RESERVED_PART);
    this.#lendable = this.#capacity;
    this.#lent = 0;
    for (const section of this.all) {
      section.reserved = 0;
      section.isInForce = named.has(section) || global.has(section);
      if (named.has(section)) section.reserved = Math.floor(part / named.size);
      if (global.has(section)) section.reserved = Math.floor(part / global.size);
      this.#lendable -= section.reserved;
      this.#lent += Math.max(0, section.size - section.reserved);
    }
  }

  /** Whether it may hold one more counter than now. */
  mayGrow(section: Section): boolean {
    return section.size < section.reserved || this.#lent < this.#lendable;
  }

  grew(section: Section): void {
    if (++section.size > section.reserved) this.#lent++;
  }

  shrank(section: Section): void {
    if (section.size-- > section.reserved) this.#lent--;
  }

  /** The one that holds most beyond what is reserved for it: after a reload, others may need that. */
  get mostLent(): Section | null {
    let most: Section | null = null;
    let lent = 0;
    for (const section of this.all) {
      if (section.size - section.reserved <= lent) continue;
      most = section;
      lent = section.size - section.reserved;
    }
    return most;
  }
}

export function newSection(bucket: string, role: LimitRole): Section {
  return { bucket, role, isInForce: false, reserved: 0, size: 0, hand: -1, evictions: 0, overflows: 0 };
}
