import { Flag, type FrameHead, type FrameSink, frameSizeFault, protocolFault } from './frame-type.ts';

const NO_BYTES = Buffer.alloc(0);

/**
 * The DATA frame that is being read. Hands on what has come of it at the end of each read, because a slow server may take long
 * for a frame. Hands on frames of one stream that come together as one piece: each piece would cost its client a write.
 */
export class DataFrame {
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
