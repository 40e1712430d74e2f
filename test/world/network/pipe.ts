import type { WorldSocket } from './socket.ts';
import type { Wires } from './wires.ts';

/** What travels. */
type Parcel = { readonly bytes: Buffer } | 'end';

/** One direction of a connection: what one end sends arrives at the other, in order. */
export class Pipe {
  readonly #wires: Wires;
  readonly #from: WorldSocket;
  readonly #to: WorldSocket;
  /** Most bytes that both systems hold between them. */
  readonly #roomBytes: number;
  /** When the last parcel arrives. */
  #lastMs = 0;
  /** Bytes that were sent and that the receiving process has not read. */
  #heldBytes = 0;
  #waiting: (() => void) | null = null;
  /** Nothing arrives any more, and nobody is told. */
  isLost = false;

  constructor(wires: Wires, from: WorldSocket, to: WorldSocket, roomBytes: number) {
    this.#wires = wires;
    this.#from = from;
    this.#to = to;
    this.#roomBytes = roomBytes;
  }

  /** Sends bytes. Calls back once the system has room for more. */
  send(bytes: Buffer, taken: () => void): void {
    const { kernel, weather } = this.#wires;
    const { host, draws } = this.#from;
    this.#heldBytes += bytes.length;
    const { nowMs } = kernel.timeline;
    // The sender may use its memory again at once.
    const copy = Buffer.from(bytes);
    for (const piece of weather.pieces(copy, nowMs, host.name, this.#to.host.name, draws, this.#lastMs)) {
      this.#lastMs = piece.atMs;
      this.#carry(piece.atMs, piece);
    }
    if (this.#heldBytes <= this.#roomBytes) taken();
    else this.#waiting = taken;
  }

  /** Sends the end of the stream. */
  end(): void {
    const { kernel, weather } = this.#wires;
    const { host, draws } = this.#from;
    const { nowMs } = kernel.timeline;
    this.#lastMs = weather.arrival(nowMs, host.name, this.#to.host.name, draws, this.#lastMs);
    this.#carry(this.#lastMs, 'end');
  }

  /** Breaks the connection: overtakes what is under way. */
  reset(): void {
    const { kernel, weather } = this.#wires;
    const { host, draws } = this.#from;
    const atMs = weather.arrival(kernel.timeline.nowMs, host.name, this.#to.host.name, draws);
    kernel.timeline.at(atMs, this.#to.owner, () => {
      if (!this.isLost) this.#to.takeReset();
    });
  }

  /** The receiving process has read so many bytes. */
  read(count: number): void {
    this.#heldBytes -= count;
    if (this.#heldBytes > this.#roomBytes || this.#waiting === null) return;
    const { kernel } = this.#wires;
    const waiting = this.#waiting;
    this.#waiting = null;
    kernel.after(0, this.#from.owner, waiting);
  }

  #carry(atMs: number, parcel: Parcel): void {
    const { timeline } = this.#wires.kernel;
    // Whether the receiving process lives is asked when it arrives: its system answers for the dead.
    timeline.at(atMs, this.#wires.everyone, () => {
      if (this.isLost) return;
      if (!this.#to.isOpen) {
        if (parcel !== 'end') this.#to.refuseParcel();
      } else this.#wires.enter(this.#to, () => this.#to.takeParcel(parcel === 'end' ? null : parcel.bytes));
    });
  }
}
