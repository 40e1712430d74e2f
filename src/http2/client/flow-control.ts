import { type FrameWriter, MAX_31_BITS, MAX_PAYLOAD, Setting } from '../frames/index.ts';
import { sectionBytes } from '../hpack/index.ts';
import { ErrorCode, Http2Fault } from '../http2-fault.ts';

/** The sending side of a stream. */
export interface Sender {
  readonly id: number;
  /** How many bytes the server accepts on the stream. Below 0 if it has made its windows smaller. */
  sendWindow: number;
  readonly outgoing: OutgoingBytes;
  /** Called when all bytes have been sent, some of which had to wait. */
  sent(): void;
}

/** Sends DATA as fast as the windows of the server and the socket allow, and lets streams take turns where they wait. */
export class Sending {
  readonly #writer: FrameWriter;
  /** How many bytes the server accepts on all streams together. */
  #window = FIRST_WINDOW;
  /** True while the socket takes more. */
  #open = true;
  /** Streams whose own windows are open and that wait for the connection's window or the socket, in turn. */
  readonly #ready = new Set<Sender>();

  constructor(writer: FrameWriter) {
    this.#writer = writer;
  }

  /** Sends what a stream has just been given, as far as possible. */
  send(stream: Sender): void {
    // If others wait, this stream waits for its turn.
    if (this.#ready.size === 0) while (this.#sendFrame(stream));
    this.#wait(stream);
  }

  /** Sends more of a stream whose window has grown. */
  retry(stream: Sender): void {
    if (stream.outgoing.length === 0 || this.#ready.has(stream)) return;
    this.#ready.add(stream);
    this.#sendReady();
  }

  /** Widens the connection's window, and sends more. Throws Http2Fault. */
  widen(bytes: number): void {
    this.#window += bytes;
    if (this.#window > MAX_31_BITS)
      throw new Http2Fault(ErrorCode.FLOW_CONTROL_ERROR, 'a window of the connection that overflows');
    this.#sendReady();
  }

  /** Changes the windows of all streams, as a change of the first window does (RFC 9113, 6.9.2). Throws Http2Fault. */
  changeWindows(streams: readonly Sender[], change: number): void {
    for (const stream of streams) {
      stream.sendWindow += change;
      if (stream.sendWindow > MAX_31_BITS)
        throw new Http2Fault(ErrorCode.FLOW_CONTROL_ERROR, 'a window of a stream that overflows');
    }
    for (const stream of streams) this.retry(stream);
  }

  /** Sets whether the socket takes more. */
  set open(open: boolean) {
    this.#open = open;
    this.#sendReady();
  }

  forget(stream: Sender): void {
    this.#ready.delete(stream);
  }

  /** Sends what can be sent now, a frame of each stream in turn. A stream that has more goes to the end, where the loop finds it again. */
  #sendReady(): void {
    for (const stream of this.#ready) {
      if (!this.#open || this.#window <= 0) return;
      this.#ready.delete(stream);
      this.#sendFrame(stream);
      if (stream.outgoing.length === 0) stream.sent();
      else this.#wait(stream);
    }
  }

  /** Lets a stream wait for its turn. One whose own window is shut need not: `retry` sends it. */
  #wait(stream: Sender): void {
    if (stream.outgoing.length > 0 && stream.sendWindow > 0) this.#ready.add(stream);
  }

  /** Sends one frame of the stream. Returns false if nothing can be sent now. */
  #sendFrame(stream: Sender): boolean {
    const { outgoing } = stream;
    const max = Math.min(MAX_PAYLOAD, this.#window, stream.sendWindow);
    if (!this.#open || max <= 0 || outgoing.length === 0) return false;
    const bytes = outgoing.take(max);
    this.#window -= bytes.length;
    stream.sendWindow -= bytes.length;
    this.#writer.data(stream.id, bytes);
    return true;
  }
}

/** The bytes that were written to a stream and have not been sent. */
export class OutgoingBytes {
  readonly #pieces: Buffer[] = [];
  /** How many bytes of the first piece were sent. */
  #offset = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#pieces.push(bytes);
    this.#length += bytes.length;
  }

  /** Removes and returns up to `max` bytes of the first piece; `max` is above 0. Call it only if there are any. */
  take(max: number): Buffer {
    const first = this.#pieces[0] as Buffer;
    const bytes = first.subarray(this.#offset, this.#offset + max);
    this.#offset += bytes.length;
    this.#length -= bytes.length;
    if (this.#offset === first.length) {
      this.#pieces.shift();
      this.#offset = 0;
    }
    return bytes;
  }
}

/** How much the other side may send before we allow more (RFC 9113, 6.9). */
export class ReceiveWindow {
  readonly #max: number;
  #left: number;

  constructor(max: number) {
    this.#max = max;
    this.#left = max;
  }

  /** Counts bytes that came. Returns false if they are more than was allowed. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /** Opens the window again once half of it is used. Returns by how many bytes: 0 if it stays as it is. */
  reopen(): number {
    const used = this.#max - this.#left;
    if (used < this.#max / 2) return 0;
    this.#left = this.#max;
    return used;
  }
}

/** The window of a connection or stream at the beginning (RFC 9113, 6.9.2). */
export const FIRST_WINDOW = 65_535;

/** Most settings in a frame, as in nghttp2. */
const MAX_ENTRIES = 32;
const ENTRY_BYTES = 6;
const MAX_FRAME_SIZE = 2 ** 24 - 1;

/** The settings of a server (RFC 9113, 6.5.2). */
export class ServerSettings {
  /** Most streams at the same time. */
  maxStreams = Number.POSITIVE_INFINITY;
  /** The window of each new stream, in bytes. */
  window = FIRST_WINDOW;
  /** Size of the table with which the server decodes headers, in bytes. */
  tableBytes = 4_096;
  /** Largest header section, in bytes with 32 more for each field. */
  maxSectionBytes = Number.POSITIVE_INFINITY;
  #takesConnect = 0;
  /** SETTINGS_NO_RFC7540_PRIORITIES, which only the first frame may set (RFC 9218, 2.1). */
  #ignoresPriorities = 0;
  #isFirst = true;

  /** Reads the payload of a SETTINGS frame. Throws Http2Fault. */
  read(payload: Buffer): void {
    if (payload.length > MAX_ENTRIES * ENTRY_BYTES)
      throw new Http2Fault(ErrorCode.ENHANCE_YOUR_CALM, 'SETTINGS of too many entries');
    for (let at = 0; at < payload.length; at += ENTRY_BYTES)
      this.#read(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    this.#isFirst = false;
  }

  /** Whether the server takes a header section of this size. */
  accepts(fields: readonly string[]): boolean {
    return this.maxSectionBytes === Number.POSITIVE_INFINITY || sectionBytes(fields) <= this.maxSectionBytes;
  }

  #read(id: number, value: number): void {
    switch (id) {
      case Setting.HEADER_TABLE_SIZE:
        this.tableBytes = value;
        break;
      case Setting.ENABLE_PUSH:
        // RFC 9113, 6.5.2: only a client may allow pushes.
        allow(value === 0);
        break;
      case Setting.MAX_CONCURRENT_STREAMS:
        this.maxStreams = value;
        break;
      case Setting.INITIAL_WINDOW_SIZE:
        allow(value <= MAX_31_BITS, ErrorCode.FLOW_CONTROL_ERROR);
        this.window = value;
        break;
      case Setting.MAX_FRAME_SIZE:
        // Ours are no larger than the smallest that it may allow.
        allow(value >= MAX_PAYLOAD && value <= MAX_FRAME_SIZE);
        break;
      case Setting.MAX_HEADER_LIST_SIZE:
        this.maxSectionBytes = value;
        break;
      case Setting.ENABLE_CONNECT_PROTOCOL:
        // RFC 8441, 3.
        allow(value <= 1 && value >= this.#takesConnect);
        this.#takesConnect = value;
        break;
      case Setting.NO_RFC7540_PRIORITIES:
        allow(value <= 1 && (this.#isFirst || value === this.#ignoresPriorities));
        this.#ignoresPriorities = value;
        break;
      default:
    }
  }
}

function allow(isAllowed: boolean, code: number = ErrorCode.PROTOCOL_ERROR): void {
  if (!isAllowed) throw new Http2Fault(code, 'SETTINGS with a value that is not allowed');
}
