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
  readonly roomBytes: number;
  /** When the last parcel arrives. */
  #lastMs = 0;
  /** Bytes that were sent and that the receiving process has not read. */
  #heldBytes = 0;
  /** Bytes of the sender that there was no room for, in its own memory. */
  #unsent: readonly Buffer[] = [];
  /** Called once all of them are taken. */
  #taken: (() => void) | null = null;
  #willFill = false;
  /** Nothing arrives any more, and nobody is told. */
  isLost = false;

  constructor(wires: Wires, from: WorldSocket, to: WorldSocket, roomBytes: number) {
    this.#wires = wires;
    this.#from = from;
    this.#to = to;
    this.roomBytes = roomBytes;
  }

  /** Sends bytes, which must not change before it calls back: the system copies only what it has room for. */
  send(bytes: readonly Buffer[], taken: () => void): void {
    this.#unsent = bytes;
    this.#taken = taken;
    this.#fill();
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

  /** Bytes that wait in the system of the sender: the other one holds half of what both do. */
  get unacknowledgedBytes(): number {
    return Math.max(0, this.#heldBytes - this.roomBytes / 2);
  }

  /** The receiving process has read so many bytes. */
  read(count: number): void {
    this.#heldBytes -= count;
    if (this.#taken === null || this.#willFill || this.#heldBytes > this.roomBytes / 2) return;
    this.#willFill = true;
    this.#wires.kernel.after(0, this.#from.owner, () => {
      this.#willFill = false;
      this.#fill();
    });
  }

  /** Takes as many bytes as there is room for. */
  #fill(): void {
    const { kernel, weather } = this.#wires;
    const { host, draws, destroyed } = this.#from;
    if (this.#taken === null || destroyed) return;
    const { nowMs } = kernel.timeline;
    const all = Buffer.concat(this.#unsent);
    const room = Math.max(0, this.roomBytes - this.#heldBytes);
    const bytes = all.subarray(0, room);
    this.#heldBytes += bytes.length;
    for (const piece of weather.pieces(bytes, nowMs, host.name, this.#to.host.name, draws, this.#lastMs)) {
      this.#lastMs = piece.atMs;
      this.#carry(piece.atMs, piece);
    }
    this.#unsent = behind(this.#unsent, bytes.length);
    if (this.#unsent.length > 0) return;
    const taken = this.#taken;
    this.#taken = null;
    taken();
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

/** What is left of these bytes behind the first ones. Copies nothing. */
function behind(bytes: readonly Buffer[], count: number): Buffer[] {
  const left: Buffer[] = [];
  let skipped = count;
  for (const each of bytes) {
    if (each.length > skipped) left.push(each.subarray(skipped));
    skipped = Math.max(0, skipped - each.length);
  }
  return left;
}
