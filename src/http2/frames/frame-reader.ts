import { ErrorCode, Http2Fault } from '../http2-fault.ts';
import {
  Flag,
  type FrameHead,
  type FrameSink,
  FrameType,
  frameSizeFault,
  HEAD_BYTES,
  MAX_31_BITS,
  MAX_PAYLOAD,
  protocolFault,
  readFrameHead,
} from './frame-type.ts';

const NO_BYTES = Buffer.alloc(0);

/**
 * Reads the frames that a server sends, in whatever pieces they come, and hands them on. Checks each frame by itself and in its
 * order after others; only the sink knows which streams there are.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #data: DataFrame;
  readonly #block = new HeaderBlock();
  /** The beginning of a frame that has not come whole. */
  #partial: Buffer = NO_BYTES;
  #partialBytes = 0;
  /** The head of that frame; `null` if it is not complete. */
  #partialHead: FrameHead | null = null;
  /** True once the first frame has come. */
  #begun = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
    this.#data = new DataFrame(sink);
  }

  /** Reads the bytes up to `end`, and may move them. Throws Http2Fault; do not call it again then. */
  read(bytes: Buffer, end: number): void {
    let at = 0;
    while (at < end) {
      if (this.#data.isOpen) at = this.#data.read(bytes, at, end);
      else if (this.#partialBytes > 0) at = this.#readPartial(bytes, at, end);
      else at = this.#readFrame(bytes, at, end);
    }
    this.#data.handOn();
  }

  /** Reads a frame in place if enough of it has come, else keeps what has come. */
  #readFrame(bytes: Buffer, at: number, end: number): number {
    if (end - at < HEAD_BYTES) return this.#keep(bytes, at, end, null);
    const head = readFrameHead(bytes, at);
    this.#check(head);
    const from = at + HEAD_BYTES;
    if (end - from < neededBytes(head)) return this.#keep(bytes, at, end, head);
    return this.#take(head, bytes, from);
  }

  #keep(bytes: Buffer, at: number, end: number, head: FrameHead | null): number {
    if (this.#partial.length === 0) this.#partial = Buffer.allocUnsafeSlow(HEAD_BYTES + MAX_PAYLOAD);
    this.#partialBytes = bytes.copy(this.#partial, 0, at, end);
    this.#partialHead = head;
    return end;
  }

  /** Continues with a frame that comes in pieces, first to the end of its head. */
  #readPartial(bytes: Buffer, at: number, end: number): number {
    const needed = HEAD_BYTES + (this.#partialHead === null ? 0 : neededBytes(this.#partialHead));
    const taken = Math.min(end - at, needed - this.#partialBytes);
    bytes.copy(this.#partial, this.#partialBytes, at, at + taken);
    this.#partialBytes += taken;
    if (this.#partialBytes < needed) return at + taken;
    if (this.#partialHead === null) {
      this.#partialHead = readFrameHead(this.#partial, 0);
      this.#check(this.#partialHead);
    }
    const head = this.#partialHead;
    if (this.#partialBytes < HEAD_BYTES + neededBytes(head)) return at + taken;
    this.#partialBytes = 0;
    const next = this.#take(head, this.#partial, HEAD_BYTES);
    // The first byte of DATA may have been kept, and belong to the body.
    if (this.#data.isOpen && next === HEAD_BYTES) {
      this.#data.read(this.#partial, next, HEAD_BYTES + 1);
      this.#data.handOn();
    }
    return at + taken;
  }

  /** Throws if a frame is wrong by its head alone. */
  #check({ length, type, flags }: FrameHead): void {
    if (length > MAX_PAYLOAD) throw frameSizeFault('a frame that is too large');
    // RFC 9113, 3.4. An HTTP/1.1 response has usually failed already by its "length".
    if (!this.#begun && (type !== FrameType.SETTINGS || (flags & Flag.ACK) !== 0))
      throw protocolFault('no SETTINGS at the beginning');
    this.#begun = true;
    if (this.#block.isOpen && type !== FrameType.CONTINUATION)
      throw protocolFault('another frame inside a header block');
  }

  /** Hands on a frame whose payload begins at `from`. Returns the position after what was read. */
  #take(head: FrameHead, bytes: Buffer, from: number): number {
    if (head.type === FrameType.DATA) return from + this.#data.begin(head, bytes[from] ?? 0);
    this.#data.handOn();
    const to = from + head.length;
    if (head.type === FrameType.HEADERS || head.type === FrameType.CONTINUATION)
      this.#headers(head, bytes.subarray(from, to));
    else if (head.type === FrameType.RST_STREAM || head.type === FrameType.PRIORITY)
      this.#streamFrame(head, bytes, from);
    else if (head.type === FrameType.WINDOW_UPDATE) this.#windowUpdate(head, bytes, from);
    else if (head.type === FrameType.PUSH_PROMISE) throw protocolFault('a push, which we do not allow');
    else if (head.type <= FrameType.CONTINUATION) this.#connectionFrame(head, bytes.subarray(from, to));
    // RFC 9113, 4.1: frames of unknown types are ignored.
    return to;
  }

  #headers({ type, flags, stream }: FrameHead, payload: Buffer): void {
    if (stream === 0) throw protocolFault('HEADERS on no stream');
    const block =
      type === FrameType.HEADERS
        ? this.#block.begin(stream, payload, flags)
        : this.#block.continue(stream, payload, flags);
    if (block !== null) this.#sink.headers(stream, block, this.#block.ends);
  }

  #streamFrame({ type, length, stream }: FrameHead, bytes: Buffer, from: number): void {
    if (stream === 0) throw protocolFault('RST_STREAM or PRIORITY on no stream');
    if (type === FrameType.PRIORITY) {
      // RFC 9113, 5.3.2: priorities are deprecated.
      if (length !== 5) throw frameSizeFault('PRIORITY of a wrong length');
    } else if (length !== 4) throw frameSizeFault('RST_STREAM of a wrong length');
    else this.#sink.reset(stream, bytes.readUInt32BE(from));
  }

  #windowUpdate({ length, stream }: FrameHead, bytes: Buffer, from: number): void {
    if (length !== 4) throw frameSizeFault('WINDOW_UPDATE of a wrong length');
    const increment = bytes.readUInt32BE(from) & MAX_31_BITS;
    if (increment === 0) throw protocolFault('a window that grows by nothing');
    this.#sink.windowUpdate(stream, increment);
  }

  /** Reads SETTINGS, PING and GOAWAY. */
  #connectionFrame({ type, flags, stream }: FrameHead, payload: Buffer): void {
    if (stream !== 0) throw protocolFault('SETTINGS, PING or GOAWAY on a stream');
    const isAck = (flags & Flag.ACK) !== 0;
    if (type === FrameType.SETTINGS) {
      if (isAck ? payload.length > 0 : payload.length % 6 !== 0)
        throw frameSizeFault('SETTINGS of a wrong length');
      if (isAck) this.#sink.settingsAcknowledged();
      else this.#sink.settings(payload);
    } else if (type === FrameType.PING) {
      if (payload.length !== 8) throw frameSizeFault('PING of a wrong length');
      if (isAck) this.#sink.pingAcknowledged();
      else this.#sink.ping(payload);
    } else {
      if (payload.length < 8) throw frameSizeFault('GOAWAY of a wrong length');
      this.#sink.goaway(payload.readUInt32BE(0) & MAX_31_BITS, payload.readUInt32BE(4));
    }
  }
}

/** How many bytes of the payload must have come before the frame is handed on. */
function neededBytes({ type, length }: FrameHead): number {
  return type === FrameType.DATA ? Math.min(1, length) : length;
}

/** Most CONTINUATION frames of one block, as in nghttp2: more only make work (CVE-2024-27316). */
const MAX_CONTINUATIONS = 8;

/** Joins the parts of a header block (RFC 9113, 4.3). */
class HeaderBlock {
  #stream = 0;
  #parts: Buffer[] = [];
  /** True if the HEADERS frame of the present block had END_STREAM. */
  ends = false;

  /** True if a block has begun and only its CONTINUATION may come. */
  get isOpen(): boolean {
    return this.#stream !== 0;
  }

  /** Takes the payload of HEADERS. Returns the block, or `null` if CONTINUATION frames follow. */
  begin(stream: number, payload: Buffer, flags: number): Buffer | null {
    const part = fragmentOf(payload, flags);
    this.ends = (flags & Flag.END_STREAM) !== 0;
    if ((flags & Flag.END_HEADERS) !== 0) return part;
    this.#stream = stream;
    this.#parts = [Buffer.from(part)];
    return null;
  }

  /** Takes the payload of CONTINUATION. Returns the block, or `null` if more frames follow. */
  continue(stream: number, payload: Buffer, flags: number): Buffer | null {
    if (!this.isOpen || stream !== this.#stream) throw protocolFault('CONTINUATION of no header block');
    if (this.#parts.length > MAX_CONTINUATIONS)
      throw new Http2Fault(ErrorCode.ENHANCE_YOUR_CALM, 'a header block in too many frames');
    this.#parts.push(Buffer.from(payload));
    if ((flags & Flag.END_HEADERS) === 0) return null;
    const block = Buffer.concat(this.#parts);
    this.#stream = 0;
    this.#parts = [];
    return block;
  }
}

/** Returns a HEADERS payload without padding and priority (RFC 9113, 6.2). */
function fragmentOf(payload: Buffer, flags: number): Buffer {
  const isPadded = (flags & Flag.PADDED) !== 0;
  const from = (isPadded ? 1 : 0) + ((flags & Flag.PRIORITY) !== 0 ? 5 : 0);
  if (from === 0) return payload;
  if (from > payload.length) throw frameSizeFault('HEADERS without what its flags say');
  const to = payload.length - (isPadded ? (payload[0] as number) : 0);
  if (to < from) throw protocolFault('HEADERS with more padding than payload');
  return payload.subarray(from, to);
}

/**
 * The DATA frame that is being read. At the end of each read, hands on the part that has come, because a slow server may take long
 * for a frame. Hands on frames of one stream that come together as one piece: each piece would cost its client a write.
 */
class DataFrame {
  readonly #sink: FrameSink;
  #stream = 0;
  #ends = false;
  /** How many bytes are yet to come, without padding. */
  #bytesLeft = 0;
  #paddingLeft = 0;
  /** The buffer that holds the piece that is not handed on yet. */
  #piece: Buffer = NO_BYTES;
  #pieceFrom = 0;
  #pieceTo = 0;
  #pieceStream = 0;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** True if a part of the frame is yet to come. */
  get isOpen(): boolean {
    return this.#bytesLeft > 0 || this.#paddingLeft > 0;
  }

  /**
   * Begins a frame. Returns how many bytes of the payload it has read: 1 if there is padding, else 0.
   *
   * @param firstByte first byte of the payload; ignored if the payload is empty
   */
  begin({ length, flags, stream }: FrameHead, firstByte: number): number {
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
    // RFC 9113, 6.1: padding counts for flow control. An empty frame is handed on, too.
    if (isPadded || length === 0)
      this.#sink.data(stream, NO_BYTES, lead + padding, this.#ends && !this.isOpen);
    return lead;
  }

  /** Reads on. Returns the position after the frame's bytes. */
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
      // A frame that breaks off inside its padding must not end the stream.
      if (!this.isOpen) this.handOn();
      if (this.#ends && !this.isOpen) this.#sink.data(this.#stream, NO_BYTES, 0, true);
    }
    return at + taken + skipped;
  }

  /** Hands on what was read. Call it at the end of the bytes, and before a frame of another type. */
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
