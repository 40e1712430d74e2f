import type { Fields } from '../../core/index.ts';

/** Bytes before each message: flags, and the length in four bytes. */
const HEAD_BYTES = 5;
/** Set in the flags of the frame with the trailers. */
const TRAILERS = 0x80;
/** The highest flags of a message: it is compressed. */
const COMPRESSED = 1;

/** Tracks the messages of a body by their heads, in constant memory whatever length they state. */
export class MessageFrames {
  /** Bytes of a message that are still to come. */
  #left = 0;
  /** Bytes of the current head that have arrived, and the length they state. */
  #headBytes = 0;
  #length = 0;
  /** True once something other than a message has arrived. */
  #broken = false;

  /** Whether the next byte begins a frame. */
  get isBetween(): boolean {
    return !this.#broken && this.#left === 0 && this.#headBytes === 0;
  }

  /** Reads the next bytes of the body. Returns false once they contain anything but messages, such as trailers. */
  read(bytes: Uint8Array): boolean {
    let at = 0;
    while (at < bytes.length && !this.#broken) {
      if (this.#left > 0) {
        const step = Math.min(this.#left, bytes.length - at);
        this.#left -= step;
        at += step;
      } else this.#readHead(bytes[at++] as number);
    }
    return !this.#broken;
  }

  #readHead(byte: number): void {
    if (this.#headBytes > 0) this.#length = this.#length * 256 + byte;
    else if (byte > COMPRESSED) this.#broken = true;
    if (++this.#headBytes < HEAD_BYTES) return;
    this.#left = this.#length;
    this.#headBytes = 0;
    this.#length = 0;
  }
}

/** Makes the frame that ends a response: the trailers as lines, with names in lower case. */
export function trailersFrame(trailers: Fields): Buffer {
  let lines = '';
  for (let i = 0; i + 1 < trailers.length; i += 2)
    lines += `${(trailers[i] as string).toLowerCase()}: ${trailers[i + 1]}\r\n`;
  const frame = Buffer.alloc(HEAD_BYTES + lines.length);
  frame[0] = TRAILERS;
  frame.writeUInt32BE(lines.length, 1);
  frame.write(lines, HEAD_BYTES, 'latin1');
  return frame;
}
