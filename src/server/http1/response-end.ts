import type { Socket } from 'node:net';
import { atTurnEnd, type TurnTask } from '../../core/index.ts';

const NO_BYTES = Buffer.alloc(0);

/** Decides when an exchange ends after the last byte of its response was written. */
export class ResponseEnd implements TurnTask {
  readonly #socket: Socket;
  readonly #ended: () => void;

  /** @param ended called once for each response, when its last byte was sent */
  constructor(socket: Socket, ended: () => void) {
    this.#socket = socket;
    this.#ended = ended;
  }

  /** The response leaves at the end of the turn, when the upstream connection that brought it is idle, too. */
  written(): void {
    atTurnEnd(this);
  }

  turnEnded(): void {
    // What was still to be sent is lost. 'close' follows, and ends the exchange as one that was not delivered.
    if (this.#socket.destroyed) return;
    if (this.#socket.writableLength === 0) this.#ended();
    else this.#socket.write(NO_BYTES, error => (error ? undefined : this.#ended()));
  }
}
