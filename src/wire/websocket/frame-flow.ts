import type { ByteSink, ByteStream } from '../../core/index.ts';

export interface FlowOwner {
  /** Called when the flow's source, as a receiver, has taken everything. */
  drained(flow: Flow): void;
  closePassed(): void;
  /** Called when the frame of `closeWith` was sent: the source is no longer needed. */
  lastSent(flow: Flow): void;
  /** Called when the source has sent something other than a frame; the flow has ended. */
  faulty(flow: Flow): void;
  /** Called when the source has closed its direction, which was passed on. */
  sourceEnded(flow: Flow): void;
  /** Called when the connection of the source is gone. */
  sourceGone(flow: Flow): void;
  /** Called when the gateway itself failed while handling an event of a connection. Must not throw: nothing would catch it. */
  failed(fault: unknown): void;
}

/** One direction of a tunnel: passes bytes on as they arrive, and knows where their frames end. */
export class Flow implements ByteSink {
  readonly #from: ByteStream;
  readonly #to: ByteStream;
  readonly #owner: FlowOwner;
  readonly #frames: FrameFollower;
  /** The frame to send instead of whatever follows the current one. */
  #last: Uint8Array | null = null;
  /** True once nothing is passed on any more. What still arrives is discarded. */
  #over = false;
  #blocked = false;
  /** True if the receiver has only complete frames. */
  #whole = true;
  passed = 0;

  constructor(from: ByteStream, to: ByteStream, rules: FrameRules, owner: FlowOwner) {
    this.#from = from;
    this.#to = to;
    this.#owner = owner;
    this.#frames = new FrameFollower(rules);
  }

  get sentClose(): boolean {
    return this.#frames.closed;
  }

  /** What was wrong with the frames of its source; `null` if nothing. */
  get fault(): string | null {
    return this.#frames.fault;
  }

  /** Whether nothing is passed on any more. */
  get over(): boolean {
    return this.#over;
  }

  start(): void {
    this.#from.start(this);
  }

  /** Ends the flow after the current frame, with this one. */
  closeWith(frame: Uint8Array): void {
    if (this.#over || this.#last !== null) return;
    this.#last = frame;
    if (this.#frames.atBoundary) this.#sendLast();
  }

  /**
   * Ends the flow at once: no further byte reaches the receiver. The receiver gets this frame, unless it has only a part of a
   * frame, which the Close would seem to continue, or has not taken everything written.
   */
  cutWith(frame: Uint8Array): void {
    if (this.#over) return;
    this.#last = frame;
    if (this.#blocked) this.#to.destroy();
    else if (this.#whole) {
      this.#sendLast();
      return;
    }
    this.stop();
    this.#to.end();
  }

  /** From now on, passes on nothing, but keeps reading, to notice when its source disconnects. */
  stop(): void {
    this.#over = true;
    if (!this.#blocked) this.#from.resume();
  }

  /** Continues, since the receiver has taken everything. */
  unblock(): void {
    this.#blocked = false;
    this.#from.resume();
  }

  bytes(piece: Buffer): void {
    if (!this.#over) this.#contain(() => this.#follow(piece));
  }

  drained(): void {
    this.#contain(() => this.#owner.drained(this));
  }

  ended(): void {
    this.#over = true;
    this.#contain(() => {
      this.#to.end();
      this.#owner.sourceEnded(this);
    });
  }

  closed(): void {
    this.#over = true;
    this.#contain(() => this.#to.end());
    this.#owner.sourceGone(this);
  }

  #contain(act: () => void): void {
    try {
      act();
    } catch (fault) {
      this.#owner.failed(fault);
    }
  }

  #follow(piece: Buffer): void {
    const frames = this.#frames;
    const end = frames.follow(piece, this.#last !== null);
    this.passed += end;
    if (end > 0) this.#pass(end === piece.length ? piece : piece.subarray(0, end));
    if (frames.fault !== null) {
      this.stop();
      this.#owner.faulty(this);
    } else if (frames.closed) {
      this.stop();
      this.#owner.closePassed();
    } else if (this.#last !== null && frames.atBoundary) this.#sendLast();
  }

  /** Pauses reading until the receiver has taken these bytes: only a paused stream leaves them unchanged. */
  #pass(bytes: Uint8Array): void {
    this.#whole = false;
    const taken = this.#to.write(bytes);
    this.#whole = this.#frames.atBoundary;
    if (taken) return;
    this.#blocked = true;
    this.#from.pause();
  }

  #sendLast(): void {
    if (this.#last !== null) this.#to.write(this.#last);
    this.stop();
    this.#to.end();
    this.#owner.lastSent(this);
  }
}

export interface FrameRules {
  /** True for a client's frames, which are masked; a server's are not (RFC 6455, 5.1). */
  readonly masked: boolean;
  /** True if an extension was negotiated: reserved bits and opcodes may have a meaning (RFC 6455, 5.2). */
  readonly extended: boolean;
}

/**
 * The part of a frame that the next byte belongs to (RFC 6455, 5.2).
 *
 * - `first byte`, with the opcode, to `second byte`, with a length of up to 125 or the mark of a longer one
 * - `second byte` to `long length` at that mark, else to `payload`
 * - `long length` to `payload` after 2 or 8 bytes
 * - `payload`, mask included, to `first byte` after its last byte: at once if it is empty
 */
type FramePhase = 'first byte' | 'second byte' | 'long length' | 'payload';

const RESERVED_BITS = 0x70;
const FINAL_BIT = 0x80;
const MASK_BIT = 0x80;
const CLOSE = 0x8;
/** Control frames have this bit in their opcode. RFC 6455, 5.5: they are final and have a short payload. */
const CONTROL_BIT = 0x8;
const MAX_SHORT_BYTES = 125;
const LENGTH_OF_2_BYTES = 126;
const MASK_BYTES = 4;

/**
 * Tracks the frames of one direction by their headers only (RFC 6455, 5.2), however the bytes are split. Skips payloads: they are
 * neither read nor kept.
 */
export class FrameFollower {
  readonly #rules: FrameRules;
  #phase: FramePhase = 'first byte';
  #opcode = 0;
  #isControl = false;
  /** How many bytes of a long length are still to come. */
  #lengthBytes = 0;
  #length = 0;
  /** How many bytes of the payload, its mask included, are still to come. */
  #payloadLeft = 0;
  /** True once a Close frame has passed: no frame may follow (RFC 6455, 5.5.1). */
  closed = false;
  /** What is wrong with the frames; `null` if nothing. */
  fault: string | null = null;

  constructor(rules: FrameRules) {
    this.#rules = rules;
  }

  /** True if the next byte begins a frame. */
  get atBoundary(): boolean {
    return this.#phase === 'first byte';
  }

  /**
   * Tracks these bytes. Returns the position up to which they may pass: their end; or the end of a Close frame; or the beginning
   * of an invalid frame, which sets `fault`; or, with `stopsAtBoundary`, the next end of a frame.
   */
  follow(bytes: Uint8Array, stopsAtBoundary: boolean): number {
    let at = 0;
    let frame = 0;
    while (at < bytes.length && !this.closed) {
      if (this.#phase === 'payload') {
        const step = Math.min(this.#payloadLeft, bytes.length - at);
        at += step;
        this.#payloadLeft -= step;
        if (this.#payloadLeft === 0) this.#endFrame();
      } else {
        if (this.#phase === 'first byte') {
          if (stopsAtBoundary) return at;
          frame = at;
        }
        this.#readHeader(bytes[at++] as number);
        if (this.fault !== null) return frame;
      }
    }
    return at;
  }

  #readHeader(byte: number): void {
    if (this.#phase === 'first byte') this.#readFirst(byte);
    else if (this.#phase === 'second byte') this.#readSecond(byte);
    else this.#readLength(byte);
  }

  #readFirst(byte: number): void {
    this.#opcode = byte & 0xf;
    this.#isControl = (byte & CONTROL_BIT) !== 0;
    this.#phase = 'second byte';
    if (this.#isControl && (byte & FINAL_BIT) === 0) this.fault = 'a control frame in fragments';
    if (this.#rules.extended) return;
    if ((byte & RESERVED_BITS) !== 0) this.fault = 'a reserved bit without an extension';
    if ((this.#opcode & 0x7) > 2) this.fault = 'an unknown opcode without an extension';
  }

  #readSecond(byte: number): void {
    const isMasked = (byte & MASK_BIT) !== 0;
    const length = byte & 0x7f;
    if (isMasked !== this.#rules.masked) this.fault = isMasked ? 'a masked frame' : 'an unmasked frame';
    if (length <= MAX_SHORT_BYTES) {
      this.#beginPayload(length);
      return;
    }
    if (this.#isControl) this.fault = 'a control frame that is too long';
    this.#length = 0;
    this.#lengthBytes = length === LENGTH_OF_2_BYTES ? 2 : 8;
    this.#phase = 'long length';
  }

  #readLength(byte: number): void {
    // RFC 6455, 5.2: the first bit of 64 is 0.
    if (this.#lengthBytes === 8 && byte > 0x7f) this.fault = 'a length of more than 63 bits';
    // Exact up to 2^53, a frame of 9 petabytes.
    this.#length = this.#length * 256 + byte;
    if (--this.#lengthBytes === 0) this.#beginPayload(this.#length);
  }

  #beginPayload(length: number): void {
    this.#phase = 'payload';
    this.#payloadLeft = this.#rules.masked ? length + MASK_BYTES : length;
    if (this.#payloadLeft === 0) this.#endFrame();
  }

  #endFrame(): void {
    this.#phase = 'first byte';
    if (this.#opcode === CLOSE) this.closed = true;
  }
}
