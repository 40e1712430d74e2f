import { NO_BYTES } from '../../../core/index.ts';
import { ErrorCode, frameSizeFault, Http2Fault, protocolFault } from '../http2-fault.ts';
import {
  Flag,
  type FrameSink,
  FrameType,
  HEAD_BYTES,
  MAX_31_BITS,
  MAX_PAYLOAD,
  PREFACE,
} from './frame-type.ts';

/** The first bytes of an HTTP/1 response, read as the length of a frame. */
const HTT = 0x48_54_54;

/**
 * Reads the frames that the peer sends, in whatever pieces they come, and hands them on. Checks each frame by itself and its
 * order among others; only the sink knows the streams.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #data: DataFrame;
  readonly #block: HeaderBlock;
  /** Bytes of the preface still to come. */
  #prefaceLeft: number;
  /** The beginning of an incomplete frame; empty if there is none. */
  #partial: Buffer = NO_BYTES;
  #partialBytes = 0;
  /** True if the fields below are the head of the partial frame; false if even its head is incomplete. */
  #hasHead = false;
  /** The head of the frame that is being read (RFC 9113, 4.1). */
  #length = 0;
  #type = 0;
  #flags = 0;
  #stream = 0;
  /** True once the first frame has arrived. */
  #begun = false;
  #isStopped = false;

  /**
   * @param preface what the peer sends before its first frame
   * @param maxBlockBytes the largest header block in several frames
   */
  constructor(sink: FrameSink, preface: Buffer = NO_BYTES, maxBlockBytes = MAX_BLOCK_BYTES) {
    this.#sink = sink;
    this.#data = new DataFrame(sink);
    this.#block = new HeaderBlock(maxBlockBytes);
    this.#prefaceLeft = preface.length;
  }

  /**
   * Reads the bytes from `from` to `end`, and may move them. Returns where it stopped: before `end` if the sink called `stop`.
   * Throws Http2Fault; do not call it again after that.
   */
  read(bytes: Buffer, from: number, end: number): number {
    this.#isStopped = false;
    let at = this.#prefaceLeft > 0 ? this.#readPreface(bytes, from, end) : from;
    while (at < end && !this.#isStopped) {
      if (this.#data.isOpen) at = this.#data.read(bytes, at, end);
      else if (this.#partialBytes > 0) at = this.#readPartial(bytes, at, end);
      else at = this.#readFrame(bytes, at, end);
    }
    this.#data.handOn();
    return at;
  }

  /** Ends the current `read` after the frame that is being passed on. */
  stop(): void {
    this.#isStopped = true;
  }

  #readPreface(bytes: Buffer, from: number, end: number): number {
    const at = PREFACE.length - this.#prefaceLeft;
    const taken = Math.min(this.#prefaceLeft, end - from);
    if (bytes.compare(PREFACE, at, at + taken, from, from + taken) !== 0)
      throw protocolFault('an invalid preface of the client');
    this.#prefaceLeft -= taken;
    return from + taken;
  }

  /** Reads a frame in place if enough of it is there, else stores the part that is. */
  #readFrame(bytes: Buffer, at: number, end: number): number {
    this.#hasHead = end - at >= HEAD_BYTES;
    if (this.#hasHead) this.#readHead(bytes, at);
    const needed = this.#neededBytes();
    if (end - at >= needed) return this.#take(bytes, at + HEAD_BYTES);
    this.#partial = Buffer.allocUnsafe(needed);
    this.#partialBytes = bytes.copy(this.#partial, 0, at, end);
    return end;
  }

  /** Continues a frame that arrives in pieces, first to the end of its head. */
  #readPartial(bytes: Buffer, at: number, end: number): number {
    const taken = Math.min(end - at, this.#neededBytes() - this.#partialBytes);
    bytes.copy(this.#partial, this.#partialBytes, at, at + taken);
    this.#partialBytes += taken;
    if (this.#partialBytes < this.#neededBytes()) return at + taken;
    if (!this.#hasHead) {
      this.#hasHead = true;
      this.#readHead(this.#partial, 0);
      const needed = this.#neededBytes();
      if (needed > HEAD_BYTES) {
        const larger = Buffer.allocUnsafe(needed);
        this.#partial.copy(larger, 0, 0, HEAD_BYTES);
        this.#partial = larger;
        return at + taken;
      }
    }
    const whole = this.#partial;
    this.#partial = NO_BYTES;
    this.#partialBytes = 0;
    const next = this.#take(whole, HEAD_BYTES);
    // The first byte of DATA may have been stored, and belong to the body.
    if (this.#data.isOpen && next === HEAD_BYTES) {
      this.#data.read(whole, next, HEAD_BYTES + 1);
      this.#data.handOn();
    }
    return at + taken;
  }

  /** How many bytes of the frame are needed to continue. */
  #neededBytes(): number {
    if (!this.#hasHead) return HEAD_BYTES;
    return HEAD_BYTES + (this.#type === FrameType.DATA ? Math.min(1, this.#length) : this.#length);
  }

  /** Reads the head of a frame. Throws if the head alone is invalid. */
  #readHead(bytes: Buffer, at: number): void {
    const length =
      ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
    const type = bytes[at + 3] as number;
    this.#length = length;
    this.#type = type;
    this.#flags = bytes[at + 4] as number;
    this.#stream = uint32(bytes, at + 5) & MAX_31_BITS;
    if (!this.#begun && length === HTT)
      throw frameSizeFault('HTTP/1: leave out "protocol" for this upstream');
    if (length > MAX_PAYLOAD) throw frameSizeFault('a frame that is too large');
    // RFC 9113, 3.4.
    if (!this.#begun && (type !== FrameType.SETTINGS || (this.#flags & Flag.ACK) !== 0))
      throw protocolFault('no SETTINGS at the beginning');
    this.#begun = true;
    if (this.#block.isOpen && type !== FrameType.CONTINUATION)
      throw protocolFault('another frame inside a header block');
  }

  /** Passes on a frame whose payload begins at `from`. Returns the position after it. */
  #take(bytes: Buffer, from: number): number {
    const type = this.#type;
    if (type === FrameType.DATA)
      return from + this.#data.begin(this.#length, this.#flags, this.#stream, bytes[from] ?? 0);
    this.#data.handOn();
    const to = from + this.#length;
    if (type === FrameType.HEADERS || type === FrameType.CONTINUATION)
      this.#headers(type, bytes.subarray(from, to));
    else if (type === FrameType.RST_STREAM || type === FrameType.PRIORITY) this.#streamFrame(bytes, from);
    else if (type === FrameType.WINDOW_UPDATE) this.#windowUpdate(bytes, from);
    else if (type === FrameType.PUSH_PROMISE) throw protocolFault('a push, which we do not allow');
    else if (type <= FrameType.CONTINUATION) this.#connectionFrame(bytes.subarray(from, to));
    else if (type === FrameType.PRIORITY_UPDATE) this.#priorityUpdate(bytes, from, to);
    // RFC 9113, 4.1: frames of unknown types are ignored.
    else this.#sink.ignored();
    return to;
  }

  #headers(type: number, payload: Buffer): void {
    const stream = this.#stream;
    if (stream === 0) throw protocolFault('HEADERS on no stream');
    const block =
      type === FrameType.HEADERS
        ? this.#block.begin(stream, payload, this.#flags)
        : this.#block.continue(stream, payload, this.#flags);
    if (block !== null) this.#sink.headers(stream, block, this.#block.ends);
  }

  #streamFrame(bytes: Buffer, from: number): void {
    const stream = this.#stream;
    if (stream === 0) throw protocolFault('RST_STREAM or PRIORITY on no stream');
    if (this.#type === FrameType.PRIORITY) {
      // RFC 9113, 5.3.2: priorities are deprecated.
      if (this.#length !== 5) throw frameSizeFault('PRIORITY of a wrong length');
      checkDependency(stream, bytes, from);
      this.#sink.ignored();
    } else if (this.#length !== 4) throw frameSizeFault('RST_STREAM of a wrong length');
    else this.#sink.reset(stream, uint32(bytes, from));
  }

  #windowUpdate(bytes: Buffer, from: number): void {
    if (this.#length !== 4) throw frameSizeFault('WINDOW_UPDATE of a wrong length');
    const increment = uint32(bytes, from) & MAX_31_BITS;
    if (increment === 0) throw protocolFault('a window that grows by nothing');
    this.#sink.windowUpdate(this.#stream, increment);
  }

  /** Reads SETTINGS, PING and GOAWAY. */
  #connectionFrame(payload: Buffer): void {
    if (this.#stream !== 0) throw protocolFault('SETTINGS, PING or GOAWAY on a stream');
    const isAck = (this.#flags & Flag.ACK) !== 0;
    if (this.#type === FrameType.SETTINGS) {
      if (isAck ? payload.length > 0 : payload.length % 6 !== 0)
        throw frameSizeFault('SETTINGS of a wrong length');
      if (isAck) this.#sink.settingsAcknowledged();
      else this.#sink.settings(payload);
    } else if (this.#type === FrameType.PING) {
      if (payload.length !== 8) throw frameSizeFault('PING of a wrong length');
      if (isAck) this.#sink.pingAcknowledged();
      else this.#sink.ping(payload);
    } else {
      if (payload.length < 8) throw frameSizeFault('GOAWAY of a wrong length');
      this.#sink.goaway(payload.readUInt32BE(0) & MAX_31_BITS, payload.readUInt32BE(4));
    }
  }

  /** RFC 9218, 7.1. */
  #priorityUpdate(bytes: Buffer, from: number, to: number): void {
    if (this.#stream !== 0) throw protocolFault('PRIORITY_UPDATE on a stream');
    if (this.#length < 4) throw frameSizeFault('PRIORITY_UPDATE of a wrong length');
    const stream = uint32(bytes, from) & MAX_31_BITS;
    if (stream === 0) throw protocolFault('PRIORITY_UPDATE of no stream');
    this.#sink.priorityUpdate(stream, bytes.toString('latin1', from + 4, to));
  }
}

function uint32(bytes: Buffer, at: number): number {
  return (
    (((bytes[at] as number) << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number)) >>>
    0
  );
}

/** RFC 7540, 5.3.1: a stream that depends on itself is an error, although RFC 9113 ignores dependencies. */
function checkDependency(stream: number, bytes: Buffer, at: number): void {
  if ((uint32(bytes, at) & MAX_31_BITS) === stream) throw protocolFault('a stream that depends on itself');
}

/** Maximum CONTINUATION frames of one block, as in nghttp2: more only cause work (CVE-2024-27316). */
const MAX_CONTINUATIONS = 8;
const MAX_BLOCK_BYTES = (1 + MAX_CONTINUATIONS) * MAX_PAYLOAD;

/** Joins the parts of a header block (RFC 9113, 4.3). */
class HeaderBlock {
  readonly #maxBytes: number;
  #stream = 0;
  #parts: Buffer[] = [];
  /** Size of the parts. */
  #bytes = 0;
  /** True if the HEADERS frame of the current block had END_STREAM. */
  ends = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** True if a block has begun and only its CONTINUATION may follow. */
  get isOpen(): boolean {
    return this.#stream !== 0;
  }

  /** Takes the payload of HEADERS. Returns the block, or `null` if CONTINUATION frames follow. */
  begin(stream: number, payload: Buffer, flags: number): Buffer | null {
    const part = fragmentOf(stream, payload, flags);
    this.ends = (flags & Flag.END_STREAM) !== 0;
    if ((flags & Flag.END_HEADERS) !== 0) return part;
    this.#stream = stream;
    this.#parts = [Buffer.from(part)];
    this.#bytes = part.length;
    return null;
  }

  /** Takes the payload of CONTINUATION. Returns the block, or `null` if more frames follow. */
  continue(stream: number, payload: Buffer, flags: number): Buffer | null {
    if (!this.isOpen || stream !== this.#stream) throw protocolFault('CONTINUATION without a header block');
    this.#bytes += payload.length;
    if (this.#parts.length > MAX_CONTINUATIONS || this.#bytes > this.#maxBytes)
      throw new Http2Fault(ErrorCode.ENHANCE_YOUR_CALM, 'a header block in too many frames', 'continuations');
    this.#parts.push(Buffer.from(payload));
    if ((flags & Flag.END_HEADERS) === 0) return null;
    const block = Buffer.concat(this.#parts);
    this.#stream = 0;
    this.#parts = [];
    return block;
  }
}

/** Returns a HEADERS payload without padding and priority (RFC 9113, 6.2). */
function fragmentOf(stream: number, payload: Buffer, flags: number): Buffer {
  const isPadded = (flags & Flag.PADDED) !== 0;
  const hasPriority = (flags & Flag.PRIORITY) !== 0;
  const from = (isPadded ? 1 : 0) + (hasPriority ? 5 : 0);
  if (from === 0) return payload;
  if (from > payload.length) throw frameSizeFault('HEADERS shorter than its flags require');
  const to = payload.length - (isPadded ? (payload[0] as number) : 0);
  if (to < from) throw protocolFault('HEADERS with more padding than payload');
  if (hasPriority) checkDependency(stream, payload, from - 5);
  return payload.subarray(from, to);
}

/**
 * The DATA frame being read. At the end of each read, passes on the available part, because a slow server may take long for a
 * frame. Consecutive frames of one stream are passed on as one piece: each piece would cost its client a write.
 */
class DataFrame {
  readonly #sink: FrameSink;
  #stream = 0;
  #ends = false;
  /** Bytes still to come, without padding. */
  #bytesLeft = 0;
  #paddingLeft = 0;
  /** The buffer of the piece that is not passed on yet. */
  #piece: Buffer = NO_BYTES;
  #pieceFrom = 0;
  #pieceTo = 0;
  #pieceStream = 0;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** True if a part of the frame is still to come. */
  get isOpen(): boolean {
    return this.#bytesLeft > 0 || this.#paddingLeft > 0;
  }

  /**
   * Begins a frame. Returns how many bytes of the payload it has read: 1 if there is padding, else 0.
   *
   * @param firstByte first byte of the payload; ignored if the payload is empty
   */
  begin(length: number, flags: number, stream: number, firstByte: number): number {
    if (stream === 0) throw protocolFault('DATA on no stream');
    const isPadded = (flags & Flag.PADDED) !== 0;
    if (isPadded && length === 0) throw frameSizeFault('DATA without the length of its padding');
    const padding = isPadded ? firstByte : 0;
    const lead = isPadded ? 1 : 0;
    if (padding > length - lead) throw protocolFault('DATA with more padding than payload');
    if (isPadded || length === 0) this.handOn();
    this.#stream = stream;
    this.#ends = (flags & Flag.END_STREAM) !== 0;
    this.#paddingLeft = padding;
    this.#bytesLeft = length - lead - padding;
    // RFC 9113, 6.1: padding counts for flow control. An empty frame is passed on as well.
    if (isPadded || length === 0)
      this.#sink.data(stream, NO_BYTES, lead + padding, this.#ends && !this.isOpen);
    return lead;
  }

  /** Continues reading. Returns the position after the frame's bytes. */
  read(bytes: Buffer, at: number, end: number): number {
    const taken = Math.min(this.#bytesLeft, end - at);
    if (taken > 0) {
      this.#bytesLeft -= taken;
      this.#gather(bytes, at, taken);
      if (this.#ends && !this.isOpen) this.handOn(true);
    }
    const skipped = Math.min(this.#paddingLeft, end - at - taken);
    if (skipped > 0) {
      this.#paddingLeft -= skipped;
      // A frame that is cut off inside its padding must not end the stream.
      if (!this.isOpen) this.handOn();
      if (this.#ends && !this.isOpen) this.#sink.data(this.#stream, NO_BYTES, 0, true);
    }
    return at + taken + skipped;
  }

  /** Passes on what was read. Call it at the end of the bytes, and before a frame of another type. */
  handOn(ends = false): void {
    if (this.#piece === NO_BYTES) return;
    const piece = this.#piece.subarray(this.#pieceFrom, this.#pieceTo);
    this.#piece = NO_BYTES;
    this.#sink.data(this.#pieceStream, piece, piece.length, ends);
  }

  /** Moves bytes to the end of the piece, over the heads of frames that have been read. */
  #gather(bytes: Buffer, at: number, length: number): void {
    if (this.#piece === bytes && this.#pieceStream === this.#stream) {
      bytes.copyWithin(this.#pieceTo, at, at + length);
      this.#pieceTo += length;
      return;
    }
    this.handOn();
    this.#piece = bytes;
    this.#pieceFrom = at;
    this.#pieceTo = at + length;
    this.#pieceStream = this.#stream;
  }
}
