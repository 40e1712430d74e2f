import { ErrorCode, Http2Fault } from '../http2-fault.ts';

/** What the table holds. */
interface Numbered {
  /** Odd. */
  readonly id: number;
}

const FIRST_SLOTS = 64;

/**
 * The open streams of a connection by their numbers. A hash table with open addressing: a Map replaces its table every few changes,
 * and a replaced table in old memory keeps streams alive that are long closed.
 */
export class StreamTable<T extends Numbered> {
  /** A power of two of slots, at most half of them in use. */
  #slots: (T | undefined)[] = new Array(FIRST_SLOTS).fill(undefined);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): T | undefined {
    return this.#slots[this.#find(id)];
  }

  /** Call it once for each number. */
  add(stream: T): void {
    if (2 * (this.#size + 1) > this.#slots.length) this.#grow();
    this.#slots[this.#find(stream.id)] = stream;
    this.#size++;
  }

  /** Nothing happens if it is not there. */
  delete(stream: T): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let gap = this.#find(stream.id);
    if (slots[gap] === undefined) return;
    this.#size--;
    // Moves up those behind the gap that are not found across it.
    for (let at = (gap + 1) & mask; ; at = (at + 1) & mask) {
      const next = slots[at];
      if (next === undefined) break;
      if (((at - this.#home(next.id)) & mask) < ((at - gap) & mask)) continue;
      slots[gap] = next;
      gap = at;
    }
    slots[gap] = undefined;
  }

  /** A copy, in no order. */
  all(): T[] {
    return this.#slots.filter(stream => stream !== undefined);
  }

  /** The slot that holds this number, or would. */
  #find(id: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = this.#home(id);
    for (let stream = slots[at]; stream !== undefined && stream.id !== id; stream = slots[at])
      at = (at + 1) & mask;
    return at;
  }

  #home(id: number): number {
    return (id >>> 1) & (this.#slots.length - 1);
  }

  #grow(): void {
    const streams = this.all();
    this.#slots = new Array(2 * this.#slots.length).fill(undefined);
    for (const stream of streams) this.#slots[this.#find(stream.id)] = stream;
  }
}

/** Acknowledgements of SETTINGS and PING that may wait to be written, as many as nghttp2 allows (CVE-2019-9512, CVE-2019-9515). */
const MAX_ACKNOWLEDGEMENTS = 1_000;
/** DATA frames in a row that are empty, or padding alone, and end nothing (CVE-2019-9518). Some servers send one where an application flushes nothing. */
const MAX_EMPTY_DATA = 100;

/** Counts what makes work and carries nothing. Throws Http2Fault where it is too much. */
export class FloodCount {
  #acknowledgements = 0;
  #emptyData = 0;

  /** One has to be written. */
  acknowledgement(): void {
    if (++this.#acknowledgements > MAX_ACKNOWLEDGEMENTS) throw tooMuch('SETTINGS or PING');
  }

  /** They have been handed to the socket. */
  acknowledgementsLeft(): void {
    this.#acknowledgements = 0;
  }

  /** Something has come on a stream that carries something. */
  content(): void {
    this.#emptyData = 0;
  }

  /** One has come. */
  emptyData(): void {
    if (++this.#emptyData > MAX_EMPTY_DATA) throw tooMuch('empty DATA');
  }
}

function tooMuch(what: string): Http2Fault {
  return new Http2Fault(ErrorCode.ENHANCE_YOUR_CALM, `too many frames of ${what}`);
}
