import type { Clock, TableMemory, Words } from '../../../core/index.ts';
import { FIRST_NAMED_WORD, NamedTable, StringHash } from '../../../limits/index.ts';

// Offsets of words in a record.
/** The group that its key belongs to. */
const GROUP = FIRST_NAMED_WORD;
/** The end of the time for which it is remembered, on the monotonic clock. A float, like ISSUED. */
const ENDS = GROUP + 1;
/** `iat` of the proof. */
const ISSUED = ENDS + 2;
/** The next record in the list, as its number + 1. */
const NEWER = ISSUED + 2;
const WIDTH = NEWER + 2;

// The words of the list, in the order of arrival. Records are stored as their number + 1.
const OLDEST = 0;
const NEWEST = 1;

/**
 * The keys of a group share the moment before which proofs are refused. With many groups, a client with one key can move it only
 * for few others.
 */
const GROUPS = 4_096;
/** Maximum expired records dropped with each new one: more than one, so that they cannot pile up, but few enough to be quick. */
const DROPPED_AT_ONCE = 4;

/**
 * Remembers which proofs were used, in memory that all threads share. In a full table the oldest are dropped. From then on, proofs
 * of the same group must be newer than those: a replay of a dropped one could not be detected.
 */
export class SeenProofs {
  readonly #memory: TableMemory;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #table: NamedTable;
  readonly #list: Words;
  /** The highest `iat` of proofs that are refused as too old, by group. */
  readonly #floors: Words;
  readonly #groupHash: StringHash;

  constructor(maxProofs: number, clock: Pick<Clock, 'monotonicMs'>, memory: TableMemory) {
    this.#memory = memory;
    this.#clock = clock;
    this.#table = new NamedTable(memory, 'proofs', maxProofs, WIDTH);
    this.#list = memory.words('proofs list', 2);
    this.#floors = memory.words('proofs floors', 2 * GROUPS);
    this.#groupHash = StringHash.withRandomKey(memory, 'proofs groups');
  }

  get size(): number {
    return this.#table.size;
  }

  /**
   * Remembers a proof, unless it was used before, or is not newer than a dropped proof of its group.
   *
   * @param key the thumbprint of its key
   * @param forMs how long it could be used again
   */
  take(key: string, id: string, issuedAtMs: number, forMs: number): 'new' | 'used' | 'too_old' {
    this.#groupHash.read(key);
    const group = this.#groupHash.low & (GROUPS - 1);
    return this.#memory.whole(() => {
      const nowMs = this.#clock.monotonicMs();
      const name = `${key} ${id}`;
      const known = this.#table.find(name);
      if (known >= 0 && this.#moment(known, ENDS) >= nowMs) return 'used';
      if (issuedAtMs <= (this.#floors.floats[group] ?? 0)) return 'too_old';
      this.#makeRoom(nowMs);
      this.#add(name, { group, issuedAtMs, endsAtMs: nowMs + forMs });
      return 'new';
    });
  }

  #makeRoom(nowMs: number): void {
    for (let dropped = 0; dropped < DROPPED_AT_ONCE; dropped++) {
      const oldest = (this.#list.ints[OLDEST] ?? 0) - 1;
      if (oldest < 0) return;
      const hasEnded = this.#moment(oldest, ENDS) < nowMs;
      if (!hasEnded && this.#table.size < this.#table.capacity) return;
      if (!hasEnded) this.#raiseFloor(oldest);
      this.#list.set(OLDEST, this.#word(oldest, NEWER));
      if (this.#word(oldest, NEWER) === 0) this.#list.set(NEWEST, 0);
      this.#table.drop(oldest);
    }
  }

  #raiseFloor(at: number): void {
    const group = this.#word(at, GROUP);
    const issuedAtMs = this.#moment(at, ISSUED);
    if (issuedAtMs > (this.#floors.floats[group] ?? 0)) this.#floors.setFloat(group, issuedAtMs);
  }

  #add(name: string, { group, issuedAtMs, endsAtMs }: Readonly<Record<string, number>>): void {
    const { records } = this.#table;
    const at = this.#table.add(name);
    records.set(at * WIDTH + GROUP, group ?? 0);
    records.setFloat((at * WIDTH + ENDS) >> 1, endsAtMs ?? 0);
    records.setFloat((at * WIDTH + ISSUED) >> 1, issuedAtMs ?? 0);
    const newest = (this.#list.ints[NEWEST] ?? 0) - 1;
    if (newest >= 0) records.set(newest * WIDTH + NEWER, at + 1);
    else this.#list.set(OLDEST, at + 1);
    this.#list.set(NEWEST, at + 1);
  }

  #word(at: number, word: number): number {
    return this.#table.ints[at * WIDTH + word] ?? 0;
  }

  #moment(at: number, word: number): number {
    return this.#table.floats[(at * WIDTH + word) >> 1] ?? 0;
  }
}
