import { RecordTable } from './record-table.ts';
import { StringHash } from './string-hash.ts';

// Words of a record.
const WIDTH = 6;
const LOW = 1;
const HIGH = 2;
const COUNTERS = 3;
const PARTS = 4;
const NETWORK = 5;

/** Networks are told apart by this many places of a secret hash. Place 0 stands for none. */
const NETWORKS = 2 ** 16;
/** The part of all counters that the callers of one network may hold for main values: the addresses of a /48 are cheap. */
const NETWORK_PART = 16;

/** How the name of a network begins, where it has a counter itself. */
const NETWORK_NAME = '\0';

/** The network that a caller belongs to, if all callers of one may have the same owner; null: the caller stands for itself. */
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

  /** The caller's number, or -1. */
  find(caller: string): number {
    this.#hash.read(caller);
    const { low, high } = this.#hash;
    const { ints } = this.#table;
    for (let at = this.#table.first(low); at >= 0; at = this.#table.after(at)) {
      if (ints[at * WIDTH + LOW] === low && ints[at * WIDTH + HIGH] === high) return at;
    }
    return -1;
  }

  /** The caller's number, created if needed. Give it a counter right away. */
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
   * Who holds all the counters for main values that it may, and so shares one for all further ones: the caller, or its network.
   * Null: the caller may have one more. The name of a network is never that of a caller.
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

  /** 0: none. */
  #placeOf(caller: string): number {
    const network = caller.startsWith(NETWORK_NAME) ? null : this.#networkOf(caller);
    if (network === null) return 0;
    this.#networkHash.read(network);
    return 1 + ((this.#networkHash.low >>> 0) % (NETWORKS - 1));
  }
}
