import type { TableMemory, Words } from '../../core/index.ts';
import { FIRST_NAMED_WORD, NamedTable, StringHash } from './record-table.ts';

// Words of a record.
const COUNTERS = FIRST_NAMED_WORD;
const PARTS = COUNTERS + 1;
const NETWORK = PARTS + 1;
const WIDTH = NETWORK + 1;

/** The places of a secret hash by which networks are told apart. Place 0 stands for none. */
const NETWORKS = 2 ** 16;
/** The callers of one network may hold one part in sixteen of all counters for main values: the addresses of a /48 are cheap. */
const NETWORK_PART = 16;

/** Begins the name of a network that has a counter itself. */
const NETWORK_NAME = '\0';

/** Names the network of a caller, all of which may belong to one owner; `null` for a caller without one, such as a user. */
export type NetworkOf = (caller: string) => string | null;

/** The callers that hold counters, found by their keys, and how many each holds. Drops a caller along with its last counter. */
export class CallerTable extends NamedTable {
  readonly #networkOf: NetworkOf;
  readonly #networkHash: StringHash;
  /** Counters for main values, by place of the network. */
  readonly #ofNetwork: Words;
  readonly #mostOfNetwork: number;

  constructor(memory: TableMemory, name: string, capacity: number, networkOf: NetworkOf) {
    super(memory, name, capacity, WIDTH);
    this.#networkHash = StringHash.withRandomKey(memory, `${name} networks`);
    this.#ofNetwork = memory.words(`${name} networks`, NETWORKS);
    this.#networkOf = networkOf;
    this.#mostOfNetwork = Math.max(1, Math.floor(capacity / NETWORK_PART));
  }

  /** Returns the caller's number, which it creates if needed. Give the caller a counter right away. */
  findOrEnter(caller: string): number {
    const found = this.find(caller);
    if (found >= 0) return found;
    const entered = this.add(caller);
    this.records.set(entered * WIDTH + NETWORK, this.#placeOf(caller));
    return entered;
  }

  /** Does the same for a caller whose hash (`hashOf`) and network (`networkAt`) are known. */
  findOrEnterHash(low: number, high: number, network: number): number {
    const found = this.findHash(low, high);
    if (found >= 0) return found;
    const entered = this.addHash(low, high);
    if (entered >= 0) this.records.set(entered * WIDTH + NETWORK, network);
    return entered;
  }

  /** The place of the caller's network; 0 if it has none. */
  networkAt(caller: number): number {
    return this.ints[caller * WIDTH + NETWORK] ?? 0;
  }

  /** How many counters of this caller are for a main value. */
  parts(caller: number): number {
    return this.ints[caller * WIDTH + PARTS] ?? 0;
  }

  /**
   * Returns the caller, or its network, if that holds all the counters for main values that it may, and so shares one for all
   * further values; `null` if the caller may have one more. No network has the name of a caller.
   */
  sharerFor(caller: string, maxParts: number): string | null {
    const at = this.find(caller);
    if (at >= 0 && this.parts(at) >= maxParts) return caller;
    const place = at >= 0 ? (this.ints[at * WIDTH + NETWORK] ?? 0) : this.#placeOf(caller);
    if (place === 0 || (this.#ofNetwork.ints[place] ?? 0) < this.#mostOfNetwork) return null;
    return NETWORK_NAME + this.#networkOf(caller);
  }

  addCounter(caller: number, ofPart: boolean): void {
    this.records.add(caller * WIDTH + COUNTERS, 1);
    if (ofPart) this.#changeParts(caller, 1);
  }

  removeCounter(caller: number, ofPart: boolean): void {
    if (ofPart) this.#changeParts(caller, -1);
    if (this.records.add(caller * WIDTH + COUNTERS, -1) === 0) this.drop(caller);
  }

  #changeParts(caller: number, by: number): void {
    this.records.add(caller * WIDTH + PARTS, by);
    const network = this.ints[caller * WIDTH + NETWORK] ?? 0;
    if (network > 0) this.#ofNetwork.add(network, by);
  }

  /** Returns the place of the caller's network, or 0 if it has none. */
  #placeOf(caller: string): number {
    const network = caller.startsWith(NETWORK_NAME) ? null : this.#networkOf(caller);
    if (network === null) return 0;
    this.#networkHash.read(network);
    return 1 + ((this.#networkHash.low >>> 0) % (NETWORKS - 1));
  }
}
