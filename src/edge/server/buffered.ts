import type { Socket } from 'node:net';
import type {
  ConnectionListener,
  Files,
  Owner,
  RosterEntry,
  TableMemory,
  TurnTask,
} from '../../core/index.ts';
import { atTurnEnd, Roster } from '../../core/index.ts';
import { kernelName, readKernelQueues } from './kernel-queues.ts';
import { PARTS, ReadPace, type ReadTerms } from './read-pace.ts';
import { ReadingRate } from './reading-rate.ts';

/**
 * What a connection with waiting bytes takes in addition to them: the memory around them, such as the rest of a read from the
 * upstream, and the objects of the exchange (`npm run caps`).
 */
export const WRITING_BYTES = 131_072;
/** What a connection that buffers a part of a request takes in addition to that part. */
export const KEEPING_BYTES = 16_384;
/** What each HTTP/2 stream takes, in addition to its bytes, until its client has read the response. */
export const STREAM_BYTES = 12_288;

export interface HoldingConnection {
  readonly socket: Socket;
  /** Bytes of responses that its client has taken, as far as Node.js knows. */
  readonly takenBytes: number;
  /** Updates the count of what the connection holds: some of it may have been written since. */
  count(): void;
  /** Ends the connection at once, and releases everything it holds. */
  cut(): void;
}

/** What one connection holds for its client, in bytes, and how fast the client reads. */
export class Holding implements RosterEntry {
  place = -1;
  /** Set only by `Buffered`. */
  bytes = 0;
  /** Numbers connections in the order in which they first held something; 0 if they never did. */
  begun = 0;
  readonly holder: HoldingConnection;
  // Created on demand: most connections never hold anything at a sweep.
  #pace: ReadPace | null = null;
  #rate: ReadingRate | null = null;
  readonly #buffered: Buffered;
  readonly #address: string;
  #owners: readonly Owner[] | null = null;
  /** What its client has acknowledged according to the kernel; `null` before the first query. */
  #acknowledged: number | null = null;
  /** The bytes that had left the kernel at the last query, as far as Node.js knows. */
  #behindKernel = 0;

  constructor(buffered: Buffered, holder: HoldingConnection, address: string) {
    this.#buffered = buffered;
    this.holder = holder;
    this.#address = address;
  }

  /** Looked up when it first holds something: most connections never do. */
  get owners(): readonly Owner[] {
    this.#owners ??= this.#buffered.ownersOf(this.#address);
    return this.#owners;
  }

  /** True while it holds something and one of its owners has used up its share: read no further for it. */
  get isOverShare(): boolean {
    return this.bytes > 0 && this.#buffered.isOverShare(this);
  }

  /** Whether this many further bytes fit under the cap, and under the shares of its owners. */
  hasRoomFor(bytes: number): boolean {
    return bytes <= 0 || this.#buffered.hasRoomFor(this, bytes);
  }

  /** True if its progress is known from the kernel. */
  get isAcknowledged(): boolean {
    return this.#acknowledged !== null;
  }

  /** True once a sweep found bytes waiting for the client. */
  get isMeasured(): boolean {
    return this.#pace?.isMeasured === true;
  }

  /** How long the client has taken none of the bytes waiting for it. */
  stalledMs(nowMs: number): number {
    return this.#pace?.stalledMs(nowMs) ?? 0;
  }

  emptied(nowMs: number): void {
    this.#rate?.rest(nowMs);
  }

  set(bytes: number): void {
    if (bytes !== this.bytes) this.#buffered.change(this, bytes);
  }

  /** Bytes per second that the client takes while something is held for it; `null` if not known yet. */
  bytesPerS(nowMs: number, partMs: number): number | null {
    this.#rate ??= new ReadingRate();
    return this.#rate.at(nowMs, this.#taken, partMs);
  }

  /**
   * Whether the client reads what is waiting for it too slowly. Call it at every sweep while something is waiting; else call
   * `rest`.
   */
  isTooSlow(nowMs: number, terms: ReadTerms): boolean {
    this.#pace ??= new ReadPace();
    return this.#pace.isTooSlow(nowMs, this.#taken, terms);
  }

  /**
   * Takes the number of bytes that now wait in the kernel: the client has everything before them. Node.js reports only complete
   * writes, so the kernel takes parts of a large one unnoticed: if more is waiting in it than before, that is not counted as lost
   * progress.
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
   * Called when nothing is waiting any more, or when a response is over. Not when the socket has drained for a moment: a response
   * to a slow client continues at once.
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

/** Below this rate, a client counts as not reading. */
const MIN_BYTES_PER_S = 240;
/** Number of classes of holdings, by how fast their clients read: the slowest class is ended first. */
const CLASSES = 10;
const NOT_READING = 0;
/**
 * The class of connections that have held bytes too briefly to be measured. They are closed after those that are known not to read,
 * the youngest first: in a flood, most young ones are part of it.
 */
const UNMEASURED = 1;
const CLASS_FACTOR = 4;
// The words of a thread: KiB in each class, and in total.
const ALL = CLASSES;
const ROW_WORDS = 16;
const KIB = 1_024;

/**
 * Once `caps.buffered` is reached, this fraction of it is freed at once: sorting for every further byte would cost more than the
 * bytes.
 */
const FREED_PART = 16;
/** An address gets this fraction of the cap, as it does of the requests in flight. */
const ADDRESS_PART = 10;
/** From this fraction of `caps.buffered` on, the kernel is asked often which clients read. */
const PRESSED_PART = 2;
const PRESSED_MS = 2_000;

export interface BufferedDependencies {
  readonly memory: TableMemory;
  readonly files: Files;
  readonly listener: Pick<ConnectionListener, 'buffersFull'>;
}

export interface BufferedTerms {
  /** Maximum bytes in all threads together: `caps.buffered`. */
  readonly capBytes: number;
  /** The owners of an address, itself first; none for a trusted proxy, which serves many clients. */
  readonly ownersOf: (address: string) => readonly Owner[];
}

/**
 * Counts all bytes held for clients: responses that they have not read, and buffered parts of their requests. Counted per
 * connection, address and network of this thread, and for all threads together, up to `caps.buffered`. Beyond that, connections
 * are closed: those with the slowest readers first, among equals those that hold most (docs/memory.md).
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
  #bytes = 0;
  #begun = 0;
  /** When the connections were last swept. */
  #nowMs = 0;
  /** How long a client may take nothing before it counts as not reading: an eighth of `timeouts.client_read`. */
  #partMs = Number.POSITIVE_INFINITY;
  #willRelieve = false;
  #isAsking = false;
  /** The earliest time of the next query to the kernel; infinity if the system offers none. */
  #asksAtMs = 0;

  constructor({ memory, files, listener }: BufferedDependencies) {
    this.#memory = memory;
    this.#files = files;
    this.#listener = listener;
    this.#rows = memory.words('buffered', memory.threads * ROW_WORDS).ints;
    this.#row = memory.worker * ROW_WORDS;
    // A worker that died under this number left its counts here.
    for (let at = 0; at < ROW_WORDS; at++) this.#store(at, 0);
  }

  get bytes(): number {
    return this.#sumOf(ALL);
  }

  /** Sets new terms. They apply at once, except to the owners of what is already held. */
  use(terms: BufferedTerms): void {
    this.#terms = terms;
    this.check();
  }

  ownersOf(address: string): readonly Owner[] {
    return this.#terms.ownersOf(address);
  }

  open(holder: HoldingConnection, address: string): Holding {
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

  hasRoomFor(holding: Holding, bytes: number): boolean {
    return this.bytes + bytes <= this.#terms.capBytes && !this.isOverShare(holding, bytes);
  }

  /** @param more the number of bytes to add to what it holds */
  isOverShare({ owners }: Holding, more = 0): boolean {
    const workers = Math.max(1, this.#memory.threads - 1);
    const share = this.#terms.capBytes / ADDRESS_PART / workers;
    return owners.some(({ key, shares }) => (this.#byOwner.get(key) ?? 0) + more > share * shares);
  }

  /**
   * Frees memory by the end of this turn if all threads together hold too much. With several threads, call it periodically, since
   * another one may cause the excess.
   */
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

  /** Updates how fast clients read. Call it after each sweep of the connections. */
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
      // Each thread closes the same fraction of what it holds in a class.
      const share = Math.min(1, excess / Math.max(1, everywhere));
      connections += this.#cut(mine, share * bytesOf(mine), kind);
      excess -= everywhere;
    }
    if (connections > 0) this.#listener.buffersFull(connections, before - this.#bytes);
  }

  /** Closes holdings of a class until this many bytes are freed. Returns how many were. */
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

  /** Publishes how much is held in each class to the other threads, and returns the holdings of each. */
  #publish(nowMs: number): Holding[][] {
    this.#nowMs = nowMs;
    const parts = Array.from({ length: CLASSES }, (): Holding[] => []);
    for (const holding of this.#holdings)
      parts[classOf(holding.bytesPerS(nowMs, this.#partMs))]?.push(holding);
    for (const [kind, part] of parts.entries()) this.#store(kind, bytesOf(part));
    return parts;
  }

  /**
   * Asks the kernel what clients have acknowledged, since Node.js alone would mistake slow readers for clients that do not read.
   */
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
        // Nothing waits in the kernel for the other connections.
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
  if (bytesPerS < MIN_BYTES_PER_S) return NOT_READING;
  const steps = Math.log(bytesPerS / MIN_BYTES_PER_S) / Math.log(CLASS_FACTOR);
  return Math.min(UNMEASURED + 1 + Math.floor(steps), CLASSES - 1);
}

function bytesOf(holdings: readonly Holding[]): number {
  return holdings.reduce((sum, { bytes }) => sum + bytes, 0);
}
