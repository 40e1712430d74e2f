import type { ByteSink, ByteStream } from '../core/index.ts';
import { FrameFollower, type FrameRules } from './frame-follower.ts';

/** Hears how a flow goes on and ends. */
export interface FlowOwner {
  /** Called when the flow's source, as a receiver, has taken everything. */
  drained(flow: Flow): void;
  /** Called when a Close frame of the source has passed. */
  closePassed(): void;
  /** Called when the frame of `closeWith` was sent: the source is no longer needed. */
  lastSent(flow: Flow): void;
  /** Called when the source has sent what is no frame; the flow has ended. */
  faulty(flow: Flow): void;
  /** Called when the source has closed its direction, which was passed on. */
  sourceEnded(flow: Flow): void;
  /** Called when the connection of the source is gone. */
  sourceGone(flow: Flow): void;
  /** Called when the gateway itself failed while it handled an event of a connection. Must not throw: nothing would catch it. */
  failed(fault: unknown): void;
}

/** One direction of a tunnel: passes bytes on as they come, and knows where their frames end. */
export class Flow implements ByteSink {
  readonly #from: ByteStream;
  readonly #to: ByteStream;
  readonly #owner: FlowOwner;
  readonly #frames: FrameFollower;
  /** The frame to send in place of whatever follows the present one. */
  #last: Uint8Array | null = null;
  /** True once nothing passes any more. What still comes is thrown away. */
  #over = false;
  #blocked = false;
  /** True if the receiver has only whole frames. */
  #whole = true;
  /** How many bytes have passed. */
  passed = 0;

  constructor(from: ByteStream, to: ByteStream, rules: FrameRules, owner: FlowOwner) {
    this.#from = from;
    this.#to = to;
    this.#owner = owner;
    this.#frames = new FrameFollower(rules);
  }

  /** Whether its source has sent a Close frame. */
  get sentClose(): boolean {
    return this.#frames.closed;
  }

  /** What was wrong with the frames of its source; `null` if nothing was. */
  get fault(): string | null {
    return this.#frames.fault;
  }

  /** Whether nothing passes any more. */
  get over(): boolean {
    return this.#over;
  }

  start(): void {
    this.#from.start(this);
  }

  /** Ends the flow after the present frame, with this one. */
  closeWith(frame: Uint8Array): void {
    if (this.#over || this.#last !== null) return;
    this.#last = frame;
    if (this.#frames.atBoundary) this.#sendLast();
  }

  /**
   * Ends the flow at once: no further byte reaches the receiver. This frame tells it why, unless it has part of a frame, so that
   * the Close would look like the other part, or has not taken all that was written.
   */
  cutWith(frame: Uint8Array): void {
    if (this.#over) return;
    this.#last = frame;
    if (this.#blocked) this.#to.destroy();
    else if (this.#whole) {
      this.#sendLast();
      return;
    }
    this.stop();
    this.#to.end();
  }

  /** Passes nothing on from here, but reads on, to notice when its source disconnects. */
  stop(): void {
    this.#over = true;
    if (!this.#blocked) this.#from.resume();
  }

  /** Goes on: the receiver has taken everything. */
  unblock(): void {
    this.#blocked = false;
    this.#from.resume();
  }

  bytes(piece: Buffer): void {
    if (this.#over) return;
    try {
      this.#follow(piece);
    } catch (fault) {
      this.#owner.failed(fault);
    }
  }

  drained(): void {
    try {
      this.#owner.drained(this);
    } catch (fault) {
      this.#owner.failed(fault);
    }
  }

  ended(): void {
    this.#over = true;
    try {
      this.#to.end();
      this.#owner.sourceEnded(this);
    } catch (fault) {
      this.#owner.failed(fault);
    }
  }

  closed(): void {
    this.#over = true;
    try {
      this.#to.end();
    } catch (fault) {
      this.#owner.failed(fault);
    }
    this.#owner.sourceGone(this);
  }

  #follow(piece: Buffer): void {
    const frames = this.#frames;
    const end = frames.follow(piece, this.#last !== null);
    this.passed += end;
    if (end > 0) this.#pass(end === piece.length ? piece : piece.subarray(0, end));
    if (frames.fault !== null) {
      this.stop();
      this.#owner.faulty(this);
    } else if (frames.closed) {
      this.stop();
      this.#owner.closePassed();
    } else if (this.#last !== null && frames.atBoundary) this.#sendLast();
  }

  /** Pauses reading until the receiver has taken these bytes: only a paused stream leaves them unchanged. */
  #pass(bytes: Uint8Array): void {
    this.#whole = false;
    const taken = this.#to.write(bytes);
    this.#whole = this.#frames.atBoundary;
    if (taken) return;
    this.#blocked = true;
    this.#from.pause();
  }

  #sendLast(): void {
    if (this.#last !== null) this.#to.write(this.#last);
    this.stop();
    this.#to.end();
    this.#owner.lastSent(this);
  }
}
