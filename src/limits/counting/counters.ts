import { type Clock, ownMemory, type RandomBytes, type TableMemory, type Words } from '../../core/index.ts';
import type { OwnersOf } from './caller-table.ts';
import { MOMENT_FLOATS, Moment } from './counter.ts';
import { CounterTable } from './counter-table.ts';
import { Keyspaces } from './keyspaces.ts';

export interface CountersOptions {
  readonly clock: Clock;
  /** Makes the secret keys by which names are hashed. */
  readonly randomBytes: RandomBytes;
  /** Where the counters are stored. Default: in memory of this thread. */
  readonly memory?: TableMemory | undefined;
  /** Identifies the counters in shared memory. Default `limits`. */
  readonly name?: string;
  /** Maximum keys held, at 85 to 100 bytes each. Default 1,000,000. */
  readonly maxKeys?: number;
  /** Maximum limits whose keys are held at the same time, twice those of one configuration. Default: by `maxKeys`, 8,192 or more. */
  readonly maxKeyspaces?: number;
  /**
   * The owners of a caller, the smallest first. Callers of one network may hold a sixteenth of each part of the room, and those
   * of the largest owner a quarter; further ones share a counter. Default: none.
   */
  readonly ownersOf?: OwnersOf | undefined;
}

// A float outside the table: requests for main values beyond their caller's maximum.
const CALLER_OVERFLOWS = 0;
/** Where the time of the last decision and its offsets begin. */
const MOMENT = 1;
const FLOATS = MOMENT + MOMENT_FLOATS;
// Integers after the floats.
/** Counts changes, and may wrap around; 0 while nobody needs it, since counting makes a decision a tenth dearer. */
const CHANGES = FLOATS * 2;
const WORDS = CHANGES + 2;

/** The counters of a store, and the clock by which they count. */
export class Counters {
  readonly memory: TableMemory;
  readonly table: CounterTable;
  readonly keyspaces: Keyspaces;
  /** The moment of the last change. */
  readonly moment = new Moment();
  readonly #clock: Clock;
  readonly #words: Words;

  constructor(options: CountersOptions) {
    const { clock, randomBytes, name = 'limits', memory = ownMemory(randomBytes) } = options;
    this.#clock = clock;
    this.memory = memory;
    this.table = new CounterTable(
      memory,
      name,
      options.maxKeys ?? 1_000_000,
      options.ownersOf,
      options.maxKeyspaces,
    );
    this.keyspaces = new Keyspaces(memory, name, this.table);
    this.#words = memory.words(`${name} moments`, WORDS);
  }

  /** Begins a decision or another change. */
  begin(): void {
    this.readClock();
    this.table.begin(this.moment.nowMs);
  }

  /** Call it within a change, because it stores the time for other threads. */
  readClock(): void {
    this.moment.readAfter(this.#clock, this.#words, MOMENT);
    this.table.steadyOffsetMs = this.moment.steadyOffsetMs;
  }

  /** Reads the clock outside changes: never earlier than the last one, so that logs are in the order of events. */
  nowMs(): number {
    this.moment.follow(this.#words, MOMENT);
    this.moment.read(this.#clock, this.moment.nowMs);
    return this.moment.steadyEpochMs;
  }

  /** Requests for main values beyond their caller's maximum. */
  get callerOverflows(): number {
    return this.#words.floats[CALLER_OVERFLOWS] ?? 0;
  }

  countCallerOverflow(partition: number, ofNetwork: boolean): void {
    this.#words.addFloat(CALLER_OVERFLOWS, 1);
    if (partition >= 0) this.table.partitions.countOtherParts(partition, ofNetwork);
  }

  /** A number that changes with each change of a counter, once changes are tracked. */
  get changes(): number {
    return this.#words.ints[CHANGES] ?? 0;
  }

  trackChanges(): void {
    this.#words.set(CHANGES, 1);
  }

  noteChange(): void {
    const { changes } = this;
    if (changes !== 0) this.#words.set(CHANGES, changes === -1 ? 1 : changes + 1);
  }
}
