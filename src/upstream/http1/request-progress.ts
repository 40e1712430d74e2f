import type { Socket } from 'node:net';

/** Notices at each sweep whether an upstream is still taking a request, or sending interim responses. */
export class RequestProgress {
  /** Bytes that the system had taken at the last sweep. */
  #bytesTaken = 0;
  /** Interim responses that had come at the last sweep. */
  #interim = 0;

  /** Whether anything has moved since the last sweep. Means nothing at the first sweep of a request. */
  hasMoved({ bytesWritten, writableLength }: Socket, interim: number): boolean {
    const bytesTaken = bytesWritten - writableLength;
    const moved = bytesTaken !== this.#bytesTaken || interim !== this.#interim;
    this.#bytesTaken = bytesTaken;
    this.#interim = interim;
    return moved;
  }
}
