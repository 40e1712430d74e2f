import { type Counter, type CounterRule, fixedWindow, newCounter, smooth } from './counter.ts';
import type { Limit, LimitAlgorithm, LimitRole, LimitSet, LimitsByRole } from './limit-definition.ts';
import type { Partition } from './partitions.ts';
import { StringHash } from './string-hash.ts';

/** The word of a record that belongs to the table. The others belong to its user. */
const NEXT = 0;

/**
 * Records of a fixed number of 32-bit words, handed out by number and found again by hash. They lie in one buffer, so the garbage
 * collector sees a single object, and a lookup touches one or two cache lines.
 *
 * Not a Map: a Map of a million strings stalls for 80 ms when it grows or is rebuilt after deletions, and would need a string
 * for each key, whereas a counter's key has three parts. This table is allocated for its full capacity at once (pages cost
 * nothing until they are touched) and never rebuilt.
 */
export class RecordTable {
  readonly capacity: number;
  /** Words of a record. */
  readonly #width: number;
  /** All records as integers: word `w` of record `r` is at `r * width + w`. Word 0 is the table's own. */
  readonly ints: Int32Array;
  /** The same memory as floats of two words each. */
  readonly floats: Float64Array;
  // Here and in NEXT a record is stored as its number + 1, so that the zeros of a fresh buffer mean "none".
  readonly #heads: Int32Array;
  readonly #mask: number;
  #free = 0;
  #used = 0;
  #size = 0;

  /** `width`: words of a record, an even number that includes the table's own. */
  constructor(capacity: number, width: number) {
    this.capacity = capacity;
    this.#width = width;
    this.ints = new Int32Array(capacity * width);
    this.floats = new Float64Array(this.ints.buffer);
    const heads = 2 ** Math.ceil(Math.log2(Math.max(2, capacity)));
    this.#heads = new Int32Array(heads);
    this.#mask = heads - 1;
  }

  /** Records held now. */
  get size(): number {
    return this.#size;
  }

  /** How many records were ever held: those from this number on are untouched. */
  get used(): number {
    return this.#used;
  }

  /** Takes a record under this hash, or returns -1 if all are held. Its words keep their values from the last use. */
  take(hash: number): number {
    const { ints } = this;
    let record = this.#free - 1;
    if (record >= 0) this.#free = ints[record * this.#width + NEXT] ?? 0;
    else if (this.#used < this.capacity) record = this.#used++;
    else return -1;
    const head = hash & this.#mask;
    ints[record * this.#width + NEXT] = this.#heads[head] ?? 0;
    this.#heads[head] = record + 1;
    this.#size++;
    return record;
  }

  /** Frees a held record for the next `take`. `hash`: the one that it was taken under. */
  giveBack(record: number, hash: number): void {
    const { ints } = this;
    const head = hash & this.#mask;
    const after = this.after(record) + 1;
    let at = (this.#heads[head] ?? 0) - 1;
    if (at === record) this.#heads[head] = after;
    else {
      while (this.after(at) !== record) at = this.after(at);
      ints[at * this.#width + NEXT] = after;
    }
    ints[record * this.#width + NEXT] = this.#free;
    this.#free = record + 1;
    this.#size--;
  }

  /** The first record whose hash may be this one, or -1. */
  first(hash: number): number {
    return (this.#heads[hash & this.#mask] ?? 0) - 1;
  }

  /** The record after one that `first` or `after` returned, or -1. */
  after(record: number): number {
    return (this.ints[record * this.#width + NEXT] ?? 0) - 1;
  }
}

const RULES: Readonly<Record<LimitAlgorithm, CounterRule>> = { window: fixedWindow, smooth };

/** The place of the counters of one identity, across all configurations that have it. */
export interface Keyspace {
  /** Counts from 1 on. */
  readonly number: number;
  /** The partition in which they find room. */
  readonly partition: Partition;
  /** The counter that stands in for all keys without room. */
  readonly overflow: Counter;
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

/** Lets limits keep their counters across reloads. It grows with configurations, never with requests. */
export class Keyspaces {
  readonly #partitionOf: (limit: Limit) => Partition;
  readonly #byIdentity = new Map<string, Keyspace>();
  /** Weak, so that entries go with their configuration. */
  readonly #bound = new WeakMap<LimitSet, BoundSet>();

  constructor(partitionOf: (limit: Limit) => Partition) {
    this.#partitionOf = partitionOf;
  }

  bindSet(limits: LimitSet): BoundSet {
    const known = this.#bound.get(limits);
    if (known !== undefined) return known;
    const shadow = limits.shadow === null ? null : this.#bindEach(limits.shadow);
    const bound = { ...this.#bindEach(limits), shadow };
    this.#bound.set(limits, bound);
    return bound;
  }

  bind(limit: Limit): BoundLimit {
    let keyspace = this.#byIdentity.get(limit.identity);
    if (keyspace === undefined) {
      const partition = this.#partitionOf(limit);
      keyspace = { number: this.#byIdentity.size + 1, partition, overflow: newCounter() };
      this.#byIdentity.set(limit.identity, keyspace);
    }
    return { limit, rule: RULES[limit.algorithm], keyspace };
  }

  #bindEach({ global, caller, resource }: LimitsByRole): BoundLimits {
    return {
      global: this.#bindOrNull(global),
      caller: this.#bindOrNull(caller),
      resource: this.#bindOrNull(resource),
    };
  }

  #bindOrNull(limit: Limit | null): BoundLimit | null {
    return limit === null ? null : this.bind(limit);
  }
}

// Words of a record.
const WIDTH = 6;
const LOW = 1;
const HIGH = 2;
const COUNTERS = 3;
const PARTS = 4;
const NETWORK = 5;

/** The places of a secret hash by which networks are told apart. Place 0 stands for none. */
const NETWORKS = 2 ** 16;
/** The callers of one network may hold one part in sixteen of all counters for main values: the addresses of a /48 are cheap. */
const NETWORK_PART = 16;

/** Begins the name of a network that has a counter itself. */
const NETWORK_NAME = '\0';

/** Names the network that a caller belongs to, if all callers of it may have the same owner; `null` if the caller stands for itself. */
export type NetworkOf = (caller: string) => string | null;

/** The callers that hold counters, and how many each holds. Drops a caller along with its last counter. */
export class CallerTable {
  readonly #table: RecordTable;
  readonly #hash = StringHash.withRandomKey();
  readonly #networkOf: NetworkOf;
  readonly #networkHash = StringHash.withRandomKey();
  /** Counters for main values, by place of the network. */
  readonly #ofNetwork = new Int32Array(NETWORKS);
  readonly #mostOfNetwork: number;

  constructor(capacity: number, networkOf: NetworkOf) {
    this.#table = new RecordTable(capacity, WIDTH);
    this.#networkOf = networkOf;
    this.#mostOfNetwork = Math.max(1, Math.floor(capacity / NETWORK_PART));
  }

  get size(): number {
    return this.#table.size;
  }

  /** Returns the caller's number, or -1. */
  find(caller: string): number {
    this.#hash.read(caller);
    const { low, high } = this.#hash;
    const { ints } = this.#table;
    for (let at = this.#table.first(low); at >= 0; at = this.#table.after(at)) {
      if (ints[at * WIDTH + LOW] === low && ints[at * WIDTH + HIGH] === high) return at;
    }
    return -1;
  }

  /** Returns the caller's number, which it creates if needed. Give the caller a counter right away. */
  findOrEnter(caller: string): number {
    const found = this.find(caller);
    if (found >= 0) return found;
    const { low, high } = this.#hash;
    const entered = this.#table.take(low);
    const { ints } = this.#table;
    ints[entered * WIDTH + LOW] = low;
    ints[entered * WIDTH + HIGH] = high;
    ints[entered * WIDTH + COUNTERS] = 0;
    ints[entered * WIDTH + PARTS] = 0;
    ints[entered * WIDTH + NETWORK] = this.#placeOf(caller);
    return entered;
  }

  /** How many counters of this caller are for a main value. */
  parts(caller: number): number {
    return this.#table.ints[caller * WIDTH + PARTS] ?? 0;
  }

  /**
   * Returns the caller, or its network, if that holds all the counters for main values that it may, and so shares one for all
   * further values; `null` if the caller may have one more. The name of a network is never that of a caller.
   */
  sharerFor(caller: string, maxParts: number): string | null {
    const at = this.find(caller);
    if (at >= 0 && this.parts(at) >= maxParts) return caller;
    const place = at >= 0 ? (this.#table.ints[at * WIDTH + NETWORK] ?? 0) : this.#placeOf(caller);
    if (place === 0 || (this.#ofNetwork[place] ?? 0) < this.#mostOfNetwork) return null;
    return NETWORK_NAME + this.#networkOf(caller);
  }

  addCounter(caller: number, ofPart: boolean): void {
    this.#change(caller, COUNTERS, 1);
    if (ofPart) this.#changeParts(caller, 1);
  }

  removeCounter(caller: number, ofPart: boolean): void {
    if (ofPart) this.#changeParts(caller, -1);
    if (this.#change(caller, COUNTERS, -1) === 0)
      this.#table.giveBack(caller, this.#table.ints[caller * WIDTH + LOW] ?? 0);
  }

  #changeParts(caller: number, by: number): void {
    this.#change(caller, PARTS, by);
    const network = this.#table.ints[caller * WIDTH + NETWORK] ?? 0;
    if (network > 0) this.#ofNetwork[network] = (this.#ofNetwork[network] ?? 0) + by;
  }

  #change(caller: number, word: number, by: number): number {
    const { ints } = this.#table;
    const count = (ints[caller * WIDTH + word] ?? 0) + by;
    ints[caller * WIDTH + word] = count;
    return count;
  }

  /** Returns the place of the caller's network, or 0 if it has none. */
  #placeOf(caller: string): number {
    const network = caller.startsWith(NETWORK_NAME) ? null : this.#networkOf(caller);
    if (network === null) return 0;
    this.#networkHash.read(network);
    return 1 + ((this.#networkHash.low >>> 0) % (NETWORKS - 1));
  }
}
