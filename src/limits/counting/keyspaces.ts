import { atOnce, type Steps, type TableMemory, type Words } from '../../core/index.ts';
import { BoundLimit, KEYSPACE_WORDS } from './bound-limit.ts';
import { type CounterTable, keyspaceNumber, limitCountOf } from './counter-table.ts';
import { LIMIT_ROLES, type Limit, type LimitSet, limitsIn, windowsOf } from './limit-definition.ts';
import { NamedTable } from './record-table.ts';

/** Limits that decide together: either all of them count a request, or none does. */
export interface JointLimits {
  /** In the order of their roles. */
  readonly limits: readonly BoundLimit[];
  /** The same in the order in which to look: a group's last, since it alone counts under another text, which is hashed. */
  readonly toLook: readonly BoundLimit[];
  /** Bounds the requests in flight; `null` for no limit. */
  readonly concurrent: Limit | null;
}

/** The limits of a request with their counters. Made once per configuration. */
export interface BoundSet {
  readonly enforced: JointLimits;
  /** The limits that decide each on its own, in the order of their roles: each with its further windows. That of places is last. */
  readonly shadow: readonly JointLimits[];
  /**
   * The windows of which header fields describe one on admission, the shortest first: the caller's, or the resource's if the
   * bucket has no other.
   */
  readonly described: readonly BoundLimit[];
  readonly isPriced: boolean;
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
  /** What this thread has looked up since the last epoch. Weak, so that entries disappear with their configuration. */
  #limits = new WeakMap<Limit, BoundLimit>();
  #sets = new WeakMap<LimitSet, BoundSet>();
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
    this.#names = new NamedTable(memory, `${name} keyspaces`, table.maxKeyspaces, KEYSPACE_WORDS);
    this.#epochs = memory.words(`${name} epochs`, 1);
  }

  /** Throws an error if a configuration has too many limits. Those of one identity count once. */
  check(limits: readonly Limit[]): void {
    const most = limitCountOf(this.#table.maxKeyspaces);
    if (eachOnce(limits).length > most) throw tooMany(most);
  }

  /** Divides the room among these limits, those in force, and never forgets them. Call `check` first. */
  share(limits: readonly Limit[]): void {
    atOnce(this.shareInSteps(limits));
  }

  /** Each step must be a change of its own (`TableMemory.whole`). */
  *shareInSteps(limits: Iterable<Limit>): Steps<void> {
    const once = new Map<string, Limit>();
    for (const limit of limits) {
      once.set(limit.identity, limit);
      yield;
    }
    this.#inForce = [...once.values()];
    for (const limit of this.#inForce) {
      this.bind(limit);
      yield;
    }
    yield* this.#table.partitions.shareInSteps(this.#inForce);
  }

  /** The limits of the configuration in force, each once. */
  get inForce(): readonly Limit[] {
    return this.#inForce;
  }

  bindSet(limits: LimitSet): BoundSet {
    if (this.#isOld) this.#beginEpoch();
    return this.#sets.get(limits) ?? this.#enterSet(limits);
  }

  #enterSet(limits: LimitSet): BoundSet {
    for (let round = 0; round < ROUNDS; round++) {
      const epoch = this.#epochs.ints[EPOCH];
      const enforced = this.#join(limitsIn(limits), limits.concurrent);
      const shadow = this.#bindShadow(limits.shadow);
      if (this.#epochs.ints[EPOCH] !== epoch) continue;
      const windows = windowsOf(limits.caller ?? limits.resource).map(limit => this.bind(limit));
      const described = windows.toSorted((one, other) => one.limit.periodMs - other.limit.periodMs);
      const isPriced = described.some(({ limit }) => limit.isPriced);
      const bound = { enforced, shadow, described, isPriced };
      this.#sets.set(limits, bound);
      return bound;
    }
    throw tooMany(this.#names.capacity);
  }

  #bindShadow(shadow: LimitSet['shadow']): BoundSet['shadow'] {
    if (shadow === null) return [];
    const held = LIMIT_ROLES.filter(role => shadow[role] !== null);
    const each = held.map(role => this.#join(windowsOf(shadow[role]), null));
    return shadow.concurrent === null ? each : [...each, this.#join([], shadow.concurrent)];
  }

  #join(all: readonly Limit[], concurrent: Limit | null): JointLimits {
    const limits = all.map(limit => this.bind(limit));
    return { limits, toLook: limits.toSorted(groupLast), concurrent };
  }

  bind(limit: Limit): BoundLimit {
    if (this.#isOld) this.#beginEpoch();
    let bound = this.#limits.get(limit);
    if (bound === undefined) {
      bound = this.#enter(limit);
      this.#limits.set(limit, bound);
    }
    return bound;
  }

  get #isOld(): boolean {
    return this.#epochs.ints[EPOCH] !== this.#epoch;
  }

  #beginEpoch(): void {
    this.#epoch = this.#epochs.ints[EPOCH] ?? 0;
    this.#limits = new WeakMap();
    this.#sets = new WeakMap();
  }

  /** Looks up or creates the keyspace of a limit. Call it before a decision changes any counter. */
  #enter(limit: Limit): BoundLimit {
    const names = this.#names;
    const isNew = names.find(limit.identity) < 0;
    // There are never more partitions than keyspaces.
    if (isNew && names.size === names.capacity) this.#forget();
    const partition = this.#partitionOf(limit);
    const at = isNew ? names.add(limit.identity) : names.find(limit.identity);
    if (partition < 0 || at < 0) throw tooMany(names.capacity);
    this.#memory.keep();
    const keyspace = keyspaceNumber(partition, at);
    this.#table.noteKeyspace(at, limit);
    return new BoundLimit(limit, keyspace, this.#table, names.records, at * KEYSPACE_WORDS);
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
}

function groupLast({ limit: one }: BoundLimit, { limit: other }: BoundLimit): number {
  return Number(one.role === 'group') - Number(other.role === 'group');
}

function eachOnce(limits: readonly Limit[]): Limit[] {
  return [...new Map(limits.map(limit => [limit.identity, limit])).values()];
}

function tooMany(most: number): Error {
  return new Error(`there are more than ${most} limits`);
}
