import type { Socket } from 'node:net';
import { SocketStream, type TimerClock } from '../../core/index.ts';
import type { Successor } from '../../gateway/index.ts';
import { type Holding, type HoldingConnection, WRITING_BYTES } from './buffered.ts';
import type { Accepted, ClientConnection, ListenerState } from './client-connection.ts';

interface Switching {
  readonly accepted: Accepted;
  /** Carries its bytes: the accepted socket, or TLS over it. */
  readonly bytes: Socket;
  readonly peer: string;
  /** The minimum average rate, in bytes per second, at which the client must read; `null` for no minimum. */
  readonly minReadRate: number | null;
  /** Bytes of the new protocol that were already read. */
  readonly early: Buffer;
  readonly successor: Successor;
}

/** The last stage of a connection that switched to another protocol. */
export class SwitchedConnection implements ClientConnection, HoldingConnection {
  readonly socket: Socket;
  readonly #accepted: Accepted;
  readonly #bytes: Socket;
  readonly #successor: Successor;
  readonly #minBytesPerS: number | null;
  readonly #state: ListenerState;
  readonly #holding: Holding;

  static begin(switching: Switching, state: ListenerState): void {
    const { accepted, bytes, early, successor } = switching;
    const connection = new SwitchedConnection(switching, state);
    successor.start(new CountedStream(bytes, early, state.clock, () => connection.count()));
    accepted.become(connection);
  }

  constructor({ accepted, bytes, peer, minReadRate, successor }: Switching, state: ListenerState) {
    this.socket = accepted.socket;
    this.#accepted = accepted;
    this.#bytes = bytes;
    this.#successor = successor;
    this.#minBytesPerS = minReadRate;
    this.#state = state;
    this.#holding = state.buffered.open(this, peer);
    state.tunnels.add(successor);
    bytes.on('close', () => {
      state.tunnels.delete(successor);
      this.#holding.set(0);
    });
  }

  get takenBytes(): number {
    return this.#bytes.bytesWritten - this.#bytes.writableLength;
  }

  cut(): void {
    this.#accepted.reset();
    this.#bytes.destroy();
  }

  count(): void {
    const bytes = this.#bytes.destroyed ? 0 : this.#bytes.writableLength;
    this.#holding.set(bytes === 0 ? 0 : bytes + WRITING_BYTES);
  }

  refuse(): void {
    this.socket.destroy();
  }

  sweep(nowMs: number): void {
    this.count();
    if (this.#isReadTooSlowly(nowMs)) {
      this.#state.connectionListener.readTooSlowly();
      this.cut();
    }
    this.#successor.sweep(nowMs);
  }

  /** Does nothing: `Tunnels` ends each WebSocket in its turn. */
  drain(): void {}

  #isReadTooSlowly(nowMs: number): boolean {
    if (this.#holding.bytes === 0) {
      this.#holding.rest();
      return false;
    }
    const { clientReadMs } = this.#state.timeouts;
    return this.#holding.isTooSlow(nowMs, { clientReadMs, minBytesPerS: this.#minBytesPerS });
  }
}

/** The client's side of a switched connection. Reports when bytes are waiting for the client. */
class CountedStream extends SocketStream {
  readonly #left: () => void;

  constructor(socket: Socket, early: Buffer, clock: TimerClock, left: () => void) {
    super(socket, early, clock);
    this.#left = left;
  }

  override write(bytes: Uint8Array): boolean {
    const isTaken = super.write(bytes);
    if (!isTaken) this.#left();
    return isTaken;
  }
}
