import type { Socket } from 'node:net';

/** A wait that no sweep has seen yet. */
const NOT_SEEN = -1;

/**
 * How long a connection has stood still. A wait counts from the sweep that sees it first, so that requests never ask what
 * time it is for it.
 */
export class StallTimer {
  readonly #socket: Socket;
  #since = NOT_SEEN;
  /** What the last sweep saw. */
  #bytesRead = 0;
  #bytesWritten = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Another wait begins: what was waited for is there. */
  begin(): void {
    this.#since = NOT_SEEN;
  }

  /**
   * Milliseconds since the present wait began, or bytes last moved. To be asked at each sweep, and only then.
   *
   * @param wantsBytes whether anybody has a use for what the client sends. Other bytes are no progress, such as empty lines
   *   between requests, or the next request of a client that does not read its answer: who sends one now and then would be
   *   waited for without end
   */
  waitedMs(nowMs: number, wantsBytes: boolean): number {
    const { bytesRead, bytesWritten, writableLength } = this.#socket;
    const taken = bytesWritten - writableLength;
    const moved = (wantsBytes && bytesRead !== this.#bytesRead) || taken !== this.#bytesWritten;
    if (moved || this.#since === NOT_SEEN) this.#since = nowMs;
    this.#bytesRead = bytesRead;
    this.#bytesWritten = taken;
    return nowMs - this.#since;
  }
}
