import { NO_BYTES } from '../../../core/index.ts';
import { Flag, FrameType, HEAD_BYTES, MAX_PAYLOAD } from './frame-type.ts';

/** Initial size of the buffer. It grows with what is written within a turn of the event loop. */
const FIRST_BYTES = 4_096;
const MAX_KEPT_BYTES = 262_144;
/** At this size, no more DATA should be written before a `take`. */
const FULL_BYTES = 65_536;
/** The stream of the last DATA frame if there is none. */
const NO_STREAM = 0;

/** Writes frames one after the other into a buffer, which is taken as a whole. */
export class FrameWriter {
  readonly #wake: () => void;
  #room = NO_BYTES;
  /** The buffer that others are still reading; empty if there is none. */
  #lent = NO_BYTES;
  #at = 0;
  /** How many bytes the last `take` returned. */
  #taken = 0;
  /** Where the last DATA frame begins, where it ends, and its stream. */
  #dataAt = 0;
  #dataEnd = 0;
  #dataStream = NO_STREAM;

  /** @param wake called when the first frame after a `take` is written */
  constructor(wake: () => void) {
    this.#wake = wake;
  }

  get length(): number {
    return this.#at;
  }

  /** Whether DATA should wait for a `take`. */
  get isFull(): boolean {
    return this.#at >= FULL_BYTES;
  }

  /** Returns everything written since the last call. The next frame overwrites it, unless `lend` is called first. */
  take(): Buffer {
    const taken = this.#room.subarray(0, this.#at);
    this.#taken = this.#at;
    this.#at = 0;
    this.#dataStream = NO_STREAM;
    // A burst must not keep its memory forever.
    if (this.#room.length > MAX_KEPT_BYTES) this.#room = NO_BYTES;
    return taken;
  }

  /** Leaves the bytes of the last `take` to those who are still reading them, until `giveBack` is called. */
  lend(): void {
    this.#lent = this.#room;
    this.#room = NO_BYTES;
  }

  /** Called when nobody reads the lent buffer any more: it is reused. */
  giveBack(): void {
    if (this.#at === 0) this.#room = this.#lent;
    this.#lent = NO_BYTES;
  }

  /** Frees the buffer if nothing was written for some time. Call it periodically. */
  rest(): void {
    if (this.#at === 0 && this.#taken === 0) this.#room = NO_BYTES;
    this.#taken = 0;
  }

  /** Writes bytes that are not a frame: the preface. */
  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#room.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Writes HEADERS, and CONTINUATION where the block needs it. */
  headers(stream: number, block: Buffer, ends: boolean): void {
    const flags = ends ? Flag.END_STREAM : Flag.NONE;
    if (block.length <= MAX_PAYLOAD) {
      this.#frame(FrameType.HEADERS, flags | Flag.END_HEADERS, stream, block);
      return;
    }
    this.#frame(FrameType.HEADERS, flags, stream, block.subarray(0, MAX_PAYLOAD));
    for (let from = MAX_PAYLOAD; from < block.length; from += MAX_PAYLOAD) {
      const part = block.subarray(from, from + MAX_PAYLOAD);
      const isLast = from + MAX_PAYLOAD >= block.length;
      this.#frame(FrameType.CONTINUATION, isLast ? Flag.END_HEADERS : Flag.NONE, stream, part);
    }
  }

  /**
   * Writes DATA, of at most MAX_PAYLOAD bytes. They are appended to the last frame if it has room, since small frames are costly
   * for the peer: the Rust crate h2 closes the connection when some hundred of them wait to be read.
   */
  data(stream: number, bytes: Buffer, from = 0, to: number = bytes.length): void {
    if (this.#extendData(stream, bytes, from, to)) return;
    this.#dataAt = this.#at;
    this.#dataStream = stream;
    this.#head(to - from, FrameType.DATA, Flag.NONE, stream);
    this.#at += bytes.copy(this.#room, this.#at, from, to);
    this.#dataEnd = this.#at;
  }

  #extendData(stream: number, bytes: Buffer, from: number, to: number): boolean {
    if (stream !== this.#dataStream || this.#dataEnd !== this.#at) return false;
    const length = this.#at - this.#dataAt - HEAD_BYTES + to - from;
    if (length > MAX_PAYLOAD) return false;
    this.#reserve(to - from);
    this.#at += bytes.copy(this.#room, this.#at, from, to);
    this.#room.writeUIntBE(length, this.#dataAt, 3);
    this.#dataEnd = this.#at;
    return true;
  }

  /** Ends a stream: with the last DATA frame if that is the stream's and not sent yet, else with an empty one. */
  endData(stream: number): void {
    if (this.#dataStream === stream) this.#room[this.#dataAt + 4] = Flag.END_STREAM;
    else this.#head(0, FrameType.DATA, Flag.END_STREAM, stream);
  }

  reset(stream: number, code: number): void {
    this.#head(4, FrameType.RST_STREAM, Flag.NONE, stream);
    this.#uint32(code);
  }

  settings(entries: readonly (readonly [id: number, value: number])[]): void {
    this.#head(6 * entries.length, FrameType.SETTINGS, Flag.NONE, 0);
    for (const [id, value] of entries) {
      this.#at = this.#room.writeUInt16BE(id, this.#at);
      this.#uint32(value);
    }
  }

  acknowledgeSettings(): void {
    this.#head(0, FrameType.SETTINGS, Flag.ACK, 0);
  }

  ping(payload: Uint8Array, flags: number): void {
    this.#head(8, FrameType.PING, flags, 0);
    this.#room.set(payload, this.#at);
    this.#at += 8;
  }

  goaway(lastStream: number, code: number): void {
    this.#head(8, FrameType.GOAWAY, Flag.NONE, 0);
    this.#uint32(lastStream);
    this.#uint32(code);
  }

  windowUpdate(stream: number, increment: number): void {
    this.#head(4, FrameType.WINDOW_UPDATE, Flag.NONE, stream);
    this.#uint32(increment);
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    this.#head(payload.length, type, flags, stream);
    payload.copy(this.#room, this.#at);
    this.#at += payload.length;
  }

  /** Writes a frame header and reserves room for the payload after it. */
  #head(length: number, type: number, flags: number, stream: number): void {
    this.#reserve(HEAD_BYTES + length);
    const room = this.#room;
    const at = this.#at;
    room[at] = length >>> 16;
    room[at + 1] = length >>> 8;
    room[at + 2] = length;
    room[at + 3] = type;
    room[at + 4] = flags;
    room[at + 5] = stream >>> 24;
    room[at + 6] = stream >>> 16;
    room[at + 7] = stream >>> 8;
    room[at + 8] = stream;
    this.#at = at + HEAD_BYTES;
  }

  #uint32(value: number): void {
    this.#at = this.#room.writeUInt32BE(value, this.#at);
  }

  #reserve(bytes: number): void {
    if (this.#at === 0) this.#wake();
    const needed = this.#at + bytes;
    if (needed <= this.#room.length) return;
    const usual = Math.max(FIRST_BYTES, Math.min(this.#taken, MAX_KEPT_BYTES));
    const larger = Buffer.allocUnsafeSlow(this.#at === 0 ? Math.max(needed, usual) : 2 * needed);
    this.#room.copy(larger, 0, 0, this.#at);
    this.#room = larger;
  }
}
