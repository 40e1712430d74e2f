import type { TableMemory, Words } from '../../core/index.ts';
import { type Counter, type CounterRule, RULES } from './counter.ts';
import {
  COUNTER_WORDS,
  type CounterTable,
  keyspaceNumber,
  limitCountOf,
  loadCounter,
  saveCounter,
} from './counter-table.ts';
import type { Limit, LimitRole, LimitSet, LimitsByRole } from './limit-definition.ts';
import { FIRST_NAMED_WORD, NamedTable } from './record-table.ts';

// A record has two overflow counters, each starting at an odd word.
const OVERFLOW = FIRST_NAMED_WORD;
const TOKEN_OVERFLOW = OVERFLOW + COUNTER_WORDS + 1;
const WIDTH = TOKEN_OVERFLOW + COUNTER_WORDS;

/** The counters of one identity, across all configurations that include it. */
export class Keyspace {
  /** From 1 on. Determines the partition that they are in (`partitionOf`). */
  readonly number: number;
  readonly #records: Words;
  readonly #start: number;

  constructor(number: number, records: Words, start: number) {
    this.number = number;
    this.#records = records;
    this.#start = start;
  }

  /**
   * Loads an overflow counter, which counts all keys that the table has no room for. There is one for callers with tokens and one
   * for addresses, so that a flood of either does not affect the other.
   */
  loadOverflow(counter: Counter, ofTokens: boolean): void {
    loadCounter(this.#records, this.#start + (ofTokens ? TOKEN_OVERFLOW : OVERFLOW), counter);
  }

  saveOverflow(counter: Counter, ofTokens: boolean): void {
    saveCounter(this.#records, this.#start + (ofTokens ? TOKEN_OVERFLOW : OVERFLOW), counter);
  }
}

/** A limit with what a store needs to count it. */
export interface BoundLimit {
  readonly limit: Limit;
  readonly rule: CounterRule;
  readonly keyspace: Keyspace;
}

export type BoundLimits = Readonly<Record<LimitRole, BoundLimit | null>>;

export interface BoundSet extends BoundLimits {
  readonly shadow: BoundLimits | null;
}

/** A limit of a set may find no room until those before it are forgotten: then all of them are looked up again. */
const ROUNDS = 2;

// The word outside the records.
/** Counts how often keyspaces were forgotten: threads then look them up again. */
const EPOCH = 0;

/**
 * Lets limits keep their counters across reloads: it numbers their identities, the same in all threads. When full, it forgets
 * those that are not in the current configuration, with their counters.
 */
export class Keyspaces {
  readonly #memory: TableMemory;
  readonly #table: CounterTable;
  readonly #partitionOf: (limit: Limit) => number;
  readonly #names: NamedTable;
  readonly #epochs: Words;
  /** Keyspaces that this thread has looked up since the last epoch. */
  #byIdentity = new Map<string, Keyspace>();
  /** Weak, so that entries disappear with their configuration. */
  #bound = new WeakMap<LimitSet, BoundSet>();
  #epoch = 0;
  #inForce: readonly Limit[] = [];

  /**
   * @param name identifies the keyspaces in shared memory
   * @param partitionOf the partition for the counters of a limit. Default: that of its bucket and role
   */
  constructor(
    memory: TableMemory,
    name: string,
    table: CounterTable,
    partitionOf = (limit: Limit) => table.partitions.of(limit),
  ) {
    this.#memory = memory;
    this.#table = table;
    this.#partitionOf = partitionOf;
    this.#names = new NamedTable(memory, `${name} keyspaces`, table.maxKeyspaces, WIDTH);
    this.#epochs = memory.words(`${name} epochs`, 1);
  }

  /** Throws an error if a configuration has too many limits. Those of one identity count once. */
  check(limits: readonly Limit[]): void {
    const most = limitCountOf(this.#table.maxKeyspaces);
    if (eachOnce(limits).length > most) throw tooMany(most);
  }

  /** Divides the room among these limits, those in force, and never forgets them. Call `check` first. */
  share(limits: readonly Limit[]): void {
    this.#inForce = eachOnce(limits);
    this.#byIdentity = new Map();
    for (const limit of this.#inForce) this.bind(limit);
    this.#table.partitions.share(this.#inForce);
  }

  /** The limits of the configuration in force, each once. */
  get inForce(): readonly Limit[] {
    return this.#inForce;
  }

  bindSet(limits: LimitSet): BoundSet {
    if (this.#isOld) this.#beginEpoch();
    const known = this.#bound.get(limits);
    if (known !== undefined) return known;
    for (let round = 0; round < ROUNDS; round++) {
      const epoch = this.#epochs.ints[EPOCH];
      const shadow = limits.shadow === null ? null : this.#bindEach(limits.shadow);
      const bound = { ...this.#bindEach(limits), shadow };
      if (this.#epochs.ints[EPOCH] !== epoch) continue;
      this.#bound.set(limits, bound);
      return bound;
    }
    throw tooMany(this.#names.capacity);
  }

  bind(limit: Limit): BoundLimit {
    if (this.#isOld) this.#beginEpoch();
    let keyspace = this.#byIdentity.get(limit.identity);
    if (keyspace === undefined) {
      keyspace = this.#enter(limit);
      this.#byIdentity.set(limit.identity, keyspace);
    }
    return { limit, rule: RULES[limit.algorithm], keyspace };
  }

  get #isOld(): boolean {
    return this.#epochs.ints[EPOCH] !== this.#epoch;
  }

  #beginEpoch(): void {
    this.#epoch = this.#epochs.ints[EPOCH] ?? 0;
    this.#byIdentity = new Map();
    this.#bound = new WeakMap();
  }

  /** Looks up or creates the keyspace of a limit. Call it before a decision changes any counter. */
  #enter(limit: Limit): Keyspace {
    const names = this.#names;
    const isNew = names.find(limit.identity) < 0;
    // There are never more partitions than keyspaces.
    if (isNew && names.size === names.capacity) this.#forget();
    const partition = this.#partitionOf(limit);
    const at = isNew ? names.add(limit.identity) : names.find(limit.identity);
    if (partition < 0 || at < 0) throw tooMany(names.capacity);
    this.#memory.keep();
    return new Keyspace(keyspaceNumber(partition, at), names.records, at * WIDTH);
  }

  /** Forgets keyspaces and partitions that are not in the current configuration. */
  #forget(): void {
    const names = this.#names;
    const { partitions } = this.#table;
    const kept = new Set(this.#inForce.map(({ identity }) => names.find(identity)));
    const dropped = new Set<number>();
    for (let at = 0; at < names.used; at++) if (names.isHeld(at) && !kept.has(at)) dropped.add(at);
    // Do this first, so that no thread continues counting in something dropped.
    this.#epochs.add(EPOCH, 1);
    this.#memory.keep();
    this.#table.releaseAll(dropped);
    for (const at of dropped) {
      names.drop(at);
      this.#memory.keep();
    }
    partitions.retain(new Set(this.#inForce.map(this.#partitionOf)));
  }

  #bindEach({ global, caller, group, resource }: LimitsByRole): BoundLimits {
    return {
      global: this.#bindOrNull(global),
      caller: this.#bindOrNull(caller),
      group: this.#bindOrNull(group),
      resource: this.#bindOrNull(resource),
    };
  }

  #bindOrNull(limit: Limit | null): BoundLimit | null {
    return limit === null ? null : this.bind(limit);
  }
}

function eachOnce(limits: readonly Limit[]): Limit[] {
  return [...new Map(limits.map(limit => [limit.identity, limit])).values()];
}

function tooMany(most: number): Error {
  return new Error(`there are more than ${most} limits`);
}
