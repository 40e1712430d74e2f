const LEAST_ROOM = 1_024;
const NO_BYTES = Buffer.alloc(0);

/**
 * Joins bytes that come in pieces, in one buffer of their own. Its room doubles, so that the work stays linear however small
 * the pieces are, and no piece is kept: each would cost hundreds of bytes beside its own.
 */
export class GrowingBytes {
  readonly #most: number;
  #room: Buffer = NO_BYTES;
  /** Bytes of the room that are taken. */
  #end = 0;

  /** `most`: how long the joined bytes become as a rule. No room is made beyond it unless they need that. */
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  /** The bytes of `before` and of `piece`. Nothing of `before` is copied where it is the end of what was returned last. */
  join(before: Buffer, piece: Uint8Array): Buffer {
    const length = before.length + piece.length;
    if (!this.#isLast(before) || this.#end + piece.length > this.#room.length) this.#move(before, length);
    this.#room.set(piece, this.#end);
    this.#end += piece.length;
    return this.#room.subarray(this.#end - length, this.#end);
  }

  /** Lets the room go. What was returned stays as it is. */
  forget(): void {
    this.#room = NO_BYTES;
    this.#end = 0;
  }

  #isLast(bytes: Buffer): boolean {
    const { buffer, byteOffset } = this.#room;
    return bytes.buffer === buffer && bytes.byteOffset + bytes.length === byteOffset + this.#end;
  }

  #move(before: Buffer, needed: number): void {
    const doubled = Math.max(LEAST_ROOM, 2 * needed);
    const room = needed <= this.#most ? Math.min(this.#most, doubled) : doubled;
    // Not from Node's pool, of which a small room would keep the whole alive.
    this.#room = Buffer.allocUnsafeSlow(room);
    this.#end = before.copy(this.#room);
  }
}
