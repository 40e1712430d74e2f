import type { Socket } from 'node:net';
import type { GatewayError } from '../core/index.ts';
import type { ClientConnection } from './client-connection.ts';

/**
 * A socket that a listener accepted, from its first byte to its close. What serves it changes: it passes the **stages** of
 * `stages.ts` (PROXY header, TLS handshake, protocol), of which a listener may need only the last. A listener keeps,
 * sweeps, refuses and drains one `Accepted` for each of its sockets and knows no stage.
 *
 * A stage is a `ClientConnection`. When it is done, it calls `accepted.become(next)` with the stage that it opened, and gets no
 * more. While it is not done:
 * - `sweep` is called twice a second, so that the stage bounds its own time and needs no timer;
 * - `refuse` says that there is no room for the connection: a stage that cannot answer destroys the socket;
 * - `retire` says that the connection is old: its next response is the last. It is repeated to each stage that follows;
 * - `drain` says that the gateway is going down. It is repeated as well.
 *
 * A stage handles the `error` event of its sockets, and takes its own handlers off the raw socket before it calls `become`. Bytes that it
 * has read and that belong to the next stage go back by `socket.unshift`.
 */
export class Accepted implements ClientConnection {
  readonly socket: Socket;
  /** The address under which the connection caps count it. */
  countedAs: string;
  #stage: ClientConnection | null = null;
  #draining = false;
  /** When it is to be retired, on the monotonic clock. */
  #retiresAtMs: number;
  #retired = false;

  /** Makes it without a stage: call `become` with the first one at once. */
  constructor(socket: Socket, peer: string, retiresAtMs = Number.POSITIVE_INFINITY) {
    this.socket = socket;
    this.countedAs = peer;
    this.#retiresAtMs = retiresAtMs;
  }

  /** Lets another stage serve the socket from here on. */
  become(stage: ClientConnection): void {
    this.#stage = stage;
    if (this.#retired) stage.retire?.();
    if (this.#draining) stage.drain();
  }

  refuse(error: GatewayError): void {
    this.#stage?.refuse(error);
  }

  sweep(nowMs: number): void {
    this.#stage?.sweep(nowMs);
    if (nowMs >= this.#retiresAtMs) this.retire();
  }

  /** Retires it at this moment, unless it is retired earlier. */
  retireBy(atMs: number): void {
    this.#retiresAtMs = Math.min(this.#retiresAtMs, atMs);
  }

  retire(): void {
    this.#retiresAtMs = Number.POSITIVE_INFINITY;
    this.#retired = true;
    this.#stage?.retire?.();
  }

  drain(): void {
    this.#draining = true;
    this.#stage?.drain();
  }
}
