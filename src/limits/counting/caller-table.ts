import { NO_OWNERS, type Owner, type TableMemory } from '../../core/index.ts';
import { FIRST_NAMED_WORD, NamedTable, StringHash } from './record-table.ts';

// Offsets of words in a record.
const COUNTERS = FIRST_NAMED_WORD;
const PARTS = COUNTERS + 1;
const NETWORK = PARTS + 1;
const WIDTH = NETWORK + 1;

/** Begins the name of the counter that stands in for the callers of a network. */
const STAND_IN = '\0';

/** Returns the owners of a caller, the smallest first; none for a caller on its own, such as a user. */
export type OwnersOf = (caller: string) => readonly Owner[];

/** The callers that hold counters, by key, and how many each holds. Drops a caller with its last counter. */
export class CallerTable extends NamedTable {
  readonly #ownersOf: OwnersOf;
  readonly #networkHash: StringHash;

  constructor(memory: TableMemory, name: string, capacity: number, ownersOf: OwnersOf) {
    super(memory, name, capacity, WIDTH);
    this.#networkHash = StringHash.withRandomKey(memory, `${name} networks`);
    this.#ownersOf = ownersOf;
  }

  /** Returns the caller's number, creating it if needed. Give the caller a counter right away. `network`: from `networkOf`. */
  findOrEnter(caller: string, network: number): number {
    const found = this.find(caller);
    if (found >= 0) return found;
    const entered = this.add(caller);
    this.records.set(entered * WIDTH + NETWORK, network);
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

  /** The network of a caller that holds counters: hashes of its owner and of itself, 16 bits each; 0 if it has none. */
  networkAt(caller: number): number {
    return this.ints[caller * WIDTH + NETWORK] ?? 0;
  }

  networkOf(caller: string): number {
    const found = this.find(caller);
    if (found >= 0) return this.networkAt(found);
    const owners = caller.startsWith(STAND_IN) ? NO_OWNERS : this.#ownersOf(caller);
    const [network, owner = network] = owners;
    if (network === undefined || owner === undefined) return 0;
    const hash = (this.#hashOf(owner) << 16) | (this.#hashOf(network) & 0xffff);
    return hash === 0 ? 1 : hash;
  }

  /**
   * The name of the counter that stands in for all callers of a caller's network; `null` if it has none. No caller has this name.
   */
  standInOf(caller: string): string | null {
    const [network] = this.#ownersOf(caller);
    return network === undefined ? null : STAND_IN + network.key;
  }

  /** How many counters of this caller are for a main value. */
  parts(caller: number): number {
    return this.ints[caller * WIDTH + PARTS] ?? 0;
  }

  /** Whether the caller holds the maximum of counters for main values. */
  hasAllParts(caller: string, maxParts: number): boolean {
    const at = this.find(caller);
    return at >= 0 && this.parts(at) >= maxParts;
  }

  addCounter(caller: number, ofPart: boolean): void {
    this.records.add(caller * WIDTH + COUNTERS, 1);
    if (ofPart) this.records.add(caller * WIDTH + PARTS, 1);
  }

  removeCounter(caller: number, ofPart: boolean): void {
    if (ofPart) this.records.add(caller * WIDTH + PARTS, -1);
    if (this.records.add(caller * WIDTH + COUNTERS, -1) === 0) this.drop(caller);
  }

  #hashOf({ key }: Owner): number {
    this.#networkHash.read(key);
    return this.#networkHash.low;
  }
}
