import type { TableMemory, Words } from '../../core/index.ts';

/** A network gets one sixteenth of a room, and its owner, with up to sixteen networks, one quarter. */
const NETWORK_PART = 16;
const OWNER_PART = 4;

/** The partition under which borrowed counters are counted. */
const BORROWED = -1;
/** Places per counter in a small table. */
const PLACES_PER_COUNTER = 8;
const MIN_PLACES = 2 ** 16;

/**
 * How many counters each network holds in each partition, and how many of them in lent room. A network is identified by 32 bits
 * of secret hashes (`CallerTable`): 16 of its owner's, 16 of its own.
 *
 * Each number is stored at two places of many, and the lower one counts: only a network that shares both with others seems to
 * hold more than it does. An exact record for each would take too much room.
 */
export class NetworkShares {
  readonly #counts: Words;
  readonly #mask: number;

  constructor(memory: TableMemory, name: string, capacity: number) {
    const least = Math.min(MIN_PLACES, PLACES_PER_COUNTER * capacity);
    const places = 2 ** Math.ceil(Math.log2(Math.max(least, capacity / 2)));
    this.#mask = places - 1;
    this.#counts = memory.words(`${name} networks`, 2 * places);
  }

  /** Whether the network, or its owner, holds its maximum of a partition with this room. */
  isSpent(partition: number, network: number, room: number): boolean {
    return (
      this.#held(placeOf(partition, network)) >= partOf(room, NETWORK_PART) ||
      this.#held(ownerPlaceOf(partition, network)) >= partOf(room, OWNER_PART)
    );
  }

  /** Whether the network, or its owner, has borrowed its maximum of this room. */
  hasBorrowed(network: number, room: number): boolean {
    return this.isSpent(BORROWED, network, room);
  }

  /** Adds a counter that the network opened in a partition, or removes one. */
  add(partition: number, network: number, isBorrowed: boolean, by: number): void {
    this.#add(placeOf(partition, network), by);
    this.#add(ownerPlaceOf(partition, network), by);
    if (!isBorrowed) return;
    this.#add(placeOf(BORROWED, network), by);
    this.#add(ownerPlaceOf(BORROWED, network), by);
  }

  #held(place: number): number {
    const { ints } = this.#counts;
    return Math.min(ints[this.#first(place)] ?? 0, ints[this.#second(place)] ?? 0);
  }

  #add(place: number, by: number): void {
    this.#counts.add(this.#first(place), by);
    this.#counts.add(this.#second(place), by);
  }

  #first(place: number): number {
    return place & this.#mask;
  }

  #second(place: number): number {
    const other = Math.imul(place ^ (place >>> 16), 0x7feb352d);
    return this.#mask + 1 + ((other ^ (other >>> 15)) & this.#mask);
  }
}

/** A fraction of a room: at least 1 if there is any. */
function partOf(room: number, part: number): number {
  return room === 0 ? 0 : Math.max(1, Math.floor(room / part));
}

function placeOf(partition: number, network: number): number {
  return mixed(2 * partition, network);
}

function ownerPlaceOf(partition: number, network: number): number {
  return mixed(2 * partition + 1, network >>> 16);
}

function mixed(partition: number, id: number): number {
  let place = Math.imul(id ^ Math.imul(partition + 3, 0x9e3779b1), 0x85ebca6b);
  place = Math.imul(place ^ (place >>> 15), 0xc2b2ae35);
  return place ^ (place >>> 13);
}
