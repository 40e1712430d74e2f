/** The rules for the frames of one direction. */
export interface FrameRules {
  /** True for a client's frames, which are masked; a server's are not (RFC 6455, 5.1). */
  readonly masked: boolean;
  /** True if an extension was agreed on: reserved bits and opcodes may have a meaning (RFC 6455, 5.2). */
  readonly extended: boolean;
}

/** Where in a frame the next byte belongs. */
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
 * Follows the frames of one direction by their headers alone (RFC 6455, 5.2), however the bytes are cut. Skips payloads: they are
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
  /** What is wrong with the frames; `null` if nothing was found. */
  fault: string | null = null;

  constructor(rules: FrameRules) {
    this.#rules = rules;
  }

  /** True if the next byte begins a frame. */
  get atBoundary(): boolean {
    return this.#phase === 'first byte';
  }

  /**
   * Follows these bytes. Returns the position up to which they may pass: their end; or the end of a Close frame; or the beginning
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
