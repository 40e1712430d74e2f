import type { Socket } from 'node:net';
import type { ConnectionListener, Files, Owner, RosterEntry, TableMemory, TurnTask } from '../core/index.ts';
import { atTurnEnd, Roster } from '../core/index.ts';
import { kernelName, readKernelQueues } from './kernel-queues.ts';
import { PARTS, ReadPace, type ReadTerms } from './read-pace.ts';
import { ReadingRate } from './reading-rate.ts';

/**
 * What a connection takes besides the bytes that wait on it: memory around them, such as the rest of what was read from the upstream at
 * once, and objects of the exchange (`npm run caps`).
 */
export const WRITING_BYTES = 131_072;
/** What a connection takes that keeps a part of a request, besides that part. */
export const KEEPING_BYTES = 16_384;
/** What each stream of HTTP/2 takes, besides its bytes, until its client has read the response. */
export const STREAM_BYTES = 12_288;

/** A connection that holds memory for its client. */
export interface Holder {
  readonly socket: Socket;
  /** How many bytes of responses its client has taken, as far as Node.js can tell. */
  readonly takenBytes: number;
  /** Counts anew what the connection holds: some of it may have been written since. */
  count(): void;
  /** Ends the connection at once, and lets go of all that it holds. */
  cut(): void;
}

/** What one connection holds for its client, in bytes, and how fast the client reads. */
export class Holding implements RosterEntry {
  place = -1;
  /** Set only by `Buffered`. */
  bytes = 0;
  /** Numbers the connections in the order in which they first held something; 0 if they never did. */
  begun = 0;
  readonly holder: Holder;
  // Made when first needed: most connections never hold anything at a sweep.
  #pace: ReadPace | null = null;
  #rate: ReadingRate | null = null;
  readonly #buffered: Buffered;
  readonly #address: string;
  #owners: readonly Owner[] | null = null;
  /** What its client has acknowledged, by the kernel; `null` until that was asked. */
  #acknowledged: number | null = null;
  /** The bytes that were not in the kernel any more when it was asked last, as far as Node.js can tell. */
  #behindKernel = 0;

  constructor(buffered: Buffered, holder: Holder, address: string) {
    this.#buffered = buffered;
    this.holder = holder;
    this.#address = address;
  }

  /** Looked up when it first holds something: most connections never do. */
  get owners(): readonly Owner[] {
    this.#owners ??= this.#buffered.ownersOf(this.#address);
    return this.#owners;
  }

  /** True while it holds something and an owner of it has used its share up: read no further for it. */
  get isOverShare(): boolean {
    return this.bytes > 0 && this.#buffered.isOverShare(this);
  }

  /** True if its progress is known from the kernel. */
  get isAcknowledged(): boolean {
    return this.#acknowledged !== null;
  }

  /** Whether a sweep has found that something is owed to the client. */
  get isMeasured(): boolean {
    return this.#pace?.isMeasured === true;
  }

  /** How long the client has taken nothing of what is owed to it. */
  stalledMs(nowMs: number): number {
    return this.#pace?.stalledMs(nowMs) ?? 0;
  }

  /** Notes that nothing is held from now on. */
  emptied(nowMs: number): void {
    this.#rate?.rest(nowMs);
  }

  /** Sets how many bytes the connection holds. */
  set(bytes: number): void {
    if (bytes !== this.bytes) this.#buffered.change(this, bytes);
  }

  /** Bytes a second that the client takes while something is held for it; `null` if that is not known yet. */
  bytesPerS(nowMs: number, partMs: number): number | null {
    this.#rate ??= new ReadingRate();
    return this.#rate.at(nowMs, this.#taken, partMs);
  }

  /** Whether the client takes what it is owed too slowly. Ask at each sweep while something is owed; else call `rest`. */
  isTooSlow(nowMs: number, terms: ReadTerms): boolean {
    this.#pace ??= new ReadPace();
    return this.#pace.isTooSlow(nowMs, this.#taken, terms);
  }

  /**
   * Takes how many bytes wait in the kernel now: what is behind them, the client has. Node.js tells only of whole writes, so the kernel takes
   * parts of a large one unseen: where more waits in it than before, the client is not taken to have lost something.
   */
  acknowledge(queued: number): void {
    const behindKernel = this.holder.takenBytes - queued;
    if (this.#acknowledged === null) {
      this.#pace?.recount(behindKernel);
      this.#rate?.recount(behindKernel - this.holder.takenBytes);
      this.#acknowledged = behindKernel;
    } else this.#acknowledged += Math.max(0, behindKernel - this.#behindKernel);
    this.#behindKernel = behindKernel;
  }

  /**
   * Nothing is owed any more, or something else. A socket that has drained for a moment does not say so: a response that a slow client
   * reads goes on at once.
   */
  rest(): void {
    this.#pace?.rest();
    if (this.#acknowledged !== null) this.#rate?.recount(this.holder.takenBytes - this.#acknowledged);
    this.#acknowledged = null;
  }

  get #taken(): number {
    return this.#acknowledged ?? this.holder.takenBytes;
  }
}

/** Below so many bytes a second, a client counts as not reading. */
const LEAST_BYTES_PER_S = 240;
/** Holdings by how fast their clients read: the slowest class ends first. */
const CLASSES = 10;
const NOT_READING = 0;
/**
 * The class of connections that have held something for too short a time to know. They end after those that are known not to read, the
 * youngest first: in a flood most of the young ones are part of it.
 */
const UNMEASURED = 1;
const CLASS_FACTOR = 4;
// The words of a thread: KiB in each class, and in all.
const ALL = CLASSES;
const ROW_WORDS = 16;
const KIB = 1_024;

/** Once `caps.buffered` is reached, this part of it is freed: sorting for each further byte would cost more than the bytes. */
const FREED_PART = 16;
/** An address has one part in so many, as it has of the requests in flight. */
const ADDRESS_PART = 10;
/** From this part of `caps.buffered` on, the kernel is asked often which clients read. */
const PRESSED_PART = 2;
const PRESSED_MS = 2_000;

export interface BufferedDependencies {
  readonly memory: TableMemory;
  readonly files: Files;
  readonly listener: Pick<ConnectionListener, 'buffersFull'>;
}

/** How much may be held. */
export interface BufferedTerms {
  /** Most bytes in all threads together: `caps.buffered`. */
  readonly capBytes: number;
  /** The owners of an address, itself first; none for a trusted proxy, behind which are many clients. */
  readonly ownersOf: (address: string) => readonly Owner[];
}

/**
 * The one account of what is held for clients, in bytes: what was written and they have not read, and what of their requests is kept.
 * Counted for each connection, address and network of this thread, and for all threads together, up to `caps.buffered`. Beyond that,
 * connections end: those whose clients read slowest first, of equals those that hold most (docs/memory.md).
 */
export class Buffered implements TurnTask {
  readonly #memory: TableMemory;
  readonly #rows: Int32Array;
  readonly #row: number;
  readonly #files: Files;
  readonly #listener: BufferedDependencies['listener'];
  readonly #holdings = new Roster<Holding>();
  readonly #byOwner = new Map<string, number>();
  #terms: BufferedTerms = { capBytes: Number.POSITIVE_INFINITY, ownersOf: () => [] };
  /** What this thread holds. */
  #bytes = 0;
  #begun = 0;
  /** When the connections were swept last. */
  #nowMs = 0;
  /** How long a client may take nothing before it counts as not reading: an eighth of `timeouts.client_read`. */
  #partMs = Number.POSITIVE_INFINITY;
  #willRelieve = false;
  #isAsking = false;
  /** When the kernel is asked next, at the earliest; infinite where it has no answer. */
  #asksAtMs = 0;

  constructor({ memory, files, listener }: BufferedDependencies) {
    this.#memory = memory;
    this.#files = files;
    this.#listener = listener;
    this.#rows = memory.words('buffered', memory.threads * ROW_WORDS).ints;
    this.#row = memory.worker * ROW_WORDS;
    // A worker that died under this number held it.
    for (let at = 0; at < ROW_WORDS; at++) this.#store(at, 0);
  }

  /** What all threads hold, in bytes. */
  get bytes(): number {
    return this.#sumOf(ALL);
  }

  /** Sets other terms. They hold at once, but for the owners of what is held already. */
  use(terms: BufferedTerms): void {
    this.#terms = terms;
    this.check();
  }

  ownersOf(address: string): readonly Owner[] {
    return this.#terms.ownersOf(address);
  }

  open(holder: Holder, address: string): Holding {
    return new Holding(this, holder, address);
  }

  change(holding: Holding, bytes: number): void {
    const change = bytes - holding.bytes;
    if (holding.bytes === 0) this.#holdings.add(holding);
    if (holding.begun === 0) holding.begun = ++this.#begun;
    holding.bytes = bytes;
    if (bytes === 0) {
      this.#holdings.delete(holding);
      holding.emptied(this.#nowMs);
    }
    this.#bytes += change;
    this.#store(ALL, this.#bytes);
    for (const { key } of holding.owners) this.#count(key, change);
    if (change > 0) this.check();
  }

  isOverShare({ owners }: Holding): boolean {
    const workers = Math.max(1, this.#memory.threads - 1);
    const share = this.#terms.capBytes / ADDRESS_PART / workers;
    return owners.some(({ key, shares }) => (this.#byOwner.get(key) ?? 0) > share * shares);
  }

  /** Frees memory by the end of this turn if too much is held. Other threads may hold it: call it now and then where there are some. */
  check(): void {
    if (this.#willRelieve || this.bytes <= this.#terms.capBytes) return;
    this.#willRelieve = true;
    atTurnEnd(this);
  }

  turnEnded(): void {
    for (const { holder } of this.#holdings) holder.count();
    this.#relieve();
    this.#willRelieve = false;
  }

  /** Notes how fast clients read. Call it after each sweep of the connections. */
  sweep(nowMs: number, clientReadMs: number): void {
    this.#partMs = clientReadMs / PARTS;
    this.#publish(nowMs);
    this.#askKernel(nowMs);
    this.check();
  }

  #relieve(): void {
    const all = this.bytes;
    if (all <= this.#terms.capBytes) return;
    const parts = this.#publish(this.#nowMs);
    let excess = all - this.#terms.capBytes + this.#terms.capBytes / FREED_PART;
    let connections = 0;
    const before = this.#bytes;
    for (let kind = 0; kind < CLASSES && excess > 0; kind++) {
      const everywhere = this.#sumOf(kind);
      const mine = parts[kind] ?? [];
      // Each thread ends its part of a class.
      const share = Math.min(1, excess / Math.max(1, everywhere));
      connections += this.#cut(mine, share * bytesOf(mine), kind);
      excess -= everywhere;
    }
    if (connections > 0) this.#listener.buffersFull(connections, before - this.#bytes);
  }

  /** Ends holdings of a class until so many bytes are freed. Returns how many. */
  #cut(holdings: Holding[], bytes: number, kind: number): number {
    const rate = (holding: Holding) => holding.bytesPerS(this.#nowMs, this.#partMs) ?? 0;
    if (kind === UNMEASURED) holdings.sort((a, b) => b.begun - a.begun);
    else holdings.sort((a, b) => rate(a) - rate(b) || b.bytes - a.bytes);
    let freed = 0;
    let count = 0;
    for (const holding of holdings) {
      if (freed >= bytes) break;
      freed += holding.bytes;
      count++;
      holding.holder.cut();
      holding.set(0);
    }
    return count;
  }

  /** Tells the other threads how much is held in each class, and returns the holdings of each. */
  #publish(nowMs: number): Holding[][] {
    this.#nowMs = nowMs;
    const parts = Array.from({ length: CLASSES }, (): Holding[] => []);
    for (const holding of this.#holdings)
      parts[classOf(holding.bytesPerS(nowMs, this.#partMs))]?.push(holding);
    for (const [kind, part] of parts.entries()) this.#store(kind, bytesOf(part));
    return parts;
  }

  /** Asks the kernel what clients have acknowledged, where Node.js alone would take slow readers for clients that do not read. */
  #askKernel(nowMs: number): void {
    const partMs = this.#partMs;
    if (this.#isAsking || nowMs < this.#asksAtMs || this.#holdings.size === 0) return;
    const isPressed = this.bytes > this.#terms.capBytes / PRESSED_PART;
    const isDoubtful = (holding: Holding) =>
      holding.isMeasured && (holding.isAcknowledged || holding.stalledMs(nowMs) >= partMs);
    if (!isPressed && ![...this.#holdings].some(isDoubtful)) return;
    this.#asksAtMs = nowMs + (isPressed ? Math.min(partMs, PRESSED_MS) : partMs);
    this.#isAsking = true;
    const byName = new Map<string, Holding>();
    for (const holding of this.#holdings)
      if (holding.isMeasured) byName.set(kernelName(holding.holder.socket), holding);
    const acknowledge = (name: string, queued: number) => {
      byName.get(name)?.acknowledge(queued);
      byName.delete(name);
    };
    readKernelQueues(this.#files, acknowledge).then(
      isThere => {
        this.#isAsking = false;
        if (!isThere) this.#asksAtMs = Number.POSITIVE_INFINITY;
        // Nothing waits of the others.
        else for (const holding of byName.values()) if (holding.bytes > 0) holding.acknowledge(0);
      },
      () => {
        this.#isAsking = false;
      },
    );
  }

  #count(key: string, change: number): void {
    const bytes = (this.#byOwner.get(key) ?? 0) + change;
    if (bytes > 0) this.#byOwner.set(key, bytes);
    else this.#byOwner.delete(key);
  }

  #store(at: number, bytes: number): void {
    Atomics.store(this.#rows, this.#row + at, Math.ceil(bytes / KIB));
  }

  #sumOf(at: number): number {
    let kib = 0;
    for (let row = at; row < this.#rows.length; row += ROW_WORDS) kib += this.#rows[row] ?? 0;
    return kib * KIB;
  }
}

function classOf(bytesPerS: number | null): number {
  if (bytesPerS === null) return UNMEASURED;
  if (bytesPerS < LEAST_BYTES_PER_S) return NOT_READING;
  const steps = Math.log(bytesPerS / LEAST_BYTES_PER_S) / Math.log(CLASS_FACTOR);
  return Math.min(UNMEASURED + 1 + Math.floor(steps), CLASSES - 1);
}

function bytesOf(holdings: readonly Holding[]): number {
  return holdings.reduce((sum, { bytes }) => sum + bytes, 0);
}
