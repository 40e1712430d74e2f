const MIN_ROOM = 1_024;
const NO_BYTES = Buffer.alloc(0);

/**
 * Joins pieces of bytes in one buffer, which doubles as needed so that the work stays linear however small the pieces are. Keeps
 * no reference to the pieces: each would cost hundreds of bytes on top of its data.
 */
export class GrowingBytes {
  readonly #usualBytes: number;
  #room: Buffer = NO_BYTES;
  /** Bytes of the room in use. */
  #end = 0;

  /** @param usualBytes usual length of the joined bytes; the buffer grows beyond it only when necessary */
  constructor(usualBytes = Number.POSITIVE_INFINITY) {
    this.#usualBytes = usualBytes;
  }

  /** Returns `before` followed by `piece`. Does not copy `before` if it is the end of the previous result. */
  join(before: Buffer, piece: Uint8Array): Buffer {
    const length = before.length + piece.length;
    if (!this.#isLast(before) || this.#end + piece.length > this.#room.length) this.#move(before, length);
    this.#room.set(piece, this.#end);
    this.#end += piece.length;
    return this.#room.subarray(this.#end - length, this.#end);
  }

  /** Drops the buffer. What was returned stays valid. */
  forget(): void {
    this.#room = NO_BYTES;
    this.#end = 0;
  }

  #isLast(bytes: Buffer): boolean {
    const { buffer, byteOffset } = this.#room;
    return bytes.buffer === buffer && bytes.byteOffset + bytes.length === byteOffset + this.#end;
  }

  #move(before: Buffer, needed: number): void {
    const doubled = Math.max(MIN_ROOM, 2 * needed);
    const room = needed <= this.#usualBytes ? Math.min(this.#usualBytes, doubled) : doubled;
    // Not from Node's pool: a small buffer would keep the whole pool alive.
    this.#room = Buffer.allocUnsafeSlow(room);
    this.#end = before.copy(this.#room);
  }
}
