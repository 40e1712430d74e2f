import type { Socket } from 'node:net';

/** Compares what a socket has moved with what it had at the last sweep. */
export class SocketProgress {
  readonly #socket: Socket;
  #bytesRead = 0;
  #bytesTaken = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /**
   * Whether bytes have moved since this was last asked.
   *
   * @param wantsBytes whether bytes from the client are useful now. Useless bytes are not progress: a client that sends an empty
   *   line now and then, or a request behind a response that it does not read, would be waited for without end
   */
  moved(wantsBytes: boolean): boolean {
    const { bytesRead, bytesWritten, writableLength } = this.#socket;
    const bytesTaken = bytesWritten - writableLength;
    const moved = (wantsBytes && bytesRead !== this.#bytesRead) || bytesTaken !== this.#bytesTaken;
    this.#bytesRead = bytesRead;
    this.#bytesTaken = bytesTaken;
    return moved;
  }
}
