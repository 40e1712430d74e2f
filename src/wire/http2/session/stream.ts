import { GrowingBytes, NO_BYTES, type Release } from '../../../core/index.ts';
import type { HeaderSection } from '../hpack/index.ts';
import { ErrorCode } from '../http2-fault.ts';
import type { OutgoingBytes, Sender } from './flow-control.ts';

export interface StreamHost {
  /** How many bytes of a body may arrive before its handler takes them, and how many may arrive now. */
  readonly streamWindow: number;
  readonly mostReceived: number;
  /** Sends bytes, and keeps those that have to wait. Returns whether all were sent. */
  send(stream: Stream, bytes: Buffer): boolean;
  endData(stream: Stream): void;
  /** Sends RST_STREAM, which closes the stream. */
  cancel(stream: Stream, code: number): void;
  /** Allows the peer to send this many more bytes on the stream. */
  openWindow(stream: Stream, bytes: number): void;
  /** Called when this many bytes of a body no longer take memory here. */
  used(bytes: number): void;
  /** Returns these bytes for a handler to keep, or a copy: they are not overwritten. */
  keep(bytes: Buffer): Buffer;
  /** Releases the bytes that `keep` just returned uncopied; `null` if nothing has to be released. */
  readonly release: Release | null;
  /** Called when both sides have ended the stream, which closes it. */
  over(stream: Stream): void;
}

/** Data received while the handler was paused. */
class HeldPart {
  bytes = NO_BYTES;
  readonly #room = new GrowingBytes();
  trailers: HeaderSection | null = null;

  get roomBytes(): number {
    return this.#room.roomBytes;
  }

  /** Joins bytes in one buffer, since they may arrive one by one. */
  join(bytes: Buffer): void {
    this.bytes = this.#room.join(this.bytes, bytes);
  }
}

/** A stream: one incoming and one outgoing message. */
export abstract class Stream implements Sender {
  readonly id: number;
  sendWindow: number;
  sentBytes = 0;
  outgoing: OutgoingBytes | null = null;
  urgency = 3;
  isIncremental = true;
  protected readonly host: StreamHost;
  /** Our message; `ending` if its last bytes are waiting. */
  protected local: 'open' | 'ending' | 'ended';
  /** The peer's message. */
  protected remote: 'open' | 'ended';
  /** True once neither side sends any more. */
  isClosed = false;
  /** True once the handler must not be called any more. */
  protected isDetached = false;
  /** True while the handler is paused. */
  protected isPaused: boolean;
  /** Bytes of the window that are used and not reopened. */
  #received = 0;
  #held: HeldPart | null = null;

  constructor(
    id: number,
    host: StreamHost,
    sendWindow: number,
    local: 'open' | 'ended',
    remote: 'open' | 'ended',
  ) {
    this.id = id;
    this.host = host;
    this.sendWindow = sendWindow;
    this.local = local;
    this.remote = remote;
    this.isPaused = false;
  }

  /** Receives what arrives; `null` if the stream has no handler yet. */
  protected abstract readonly handler: StreamHandler | null;

  /** Bytes written that could not be sent yet. */
  get unsent(): number {
    return this.outgoing?.length ?? 0;
  }

  /** Memory of received bytes that the handler has not taken. */
  get heldBytes(): number {
    return this.#held?.roomBytes ?? 0;
  }

  /** True once the peer has ended its message. */
  get isReceived(): boolean {
    return this.remote === 'ended';
  }

  /**
   * Sends bytes, which must not change before they are sent. Returns true if all were sent, so that they may change; else calls
   * the handler's `drained` later.
   */
  write(bytes: Buffer): boolean {
    if (this.isClosed || this.local !== 'open') return false;
    return this.host.send(this, bytes);
  }

  sent(): void {
    if (this.local === 'open') {
      if (!this.isDetached) this.handler?.drained();
      return;
    }
    this.local = 'ended';
    this.finishSending();
  }

  /** Ends our message after everything written. */
  protected endLocal(): void {
    this.local = 'ending';
    if (this.unsent === 0) this.sent();
  }

  /** Writes the end of our message, once everything before it has been sent. */
  protected finishSending(): void {
    this.host.endData(this);
    this.closeIfOver();
  }

  /** Resumes passing on what arrives. */
  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    const held = this.#held;
    if (held !== null && held.bytes.length > 0) {
      const { bytes } = held;
      if (held.trailers === null) this.#held = null;
      else held.bytes = NO_BYTES;
      this.host.used(bytes.length);
      this.#handOn(bytes, null);
    } else this.#reopen();
    if (this.remote === 'ended' && !this.#isPausedNow()) this.#endReceiving();
  }

  /** Gives up the rest of the stream. The handler is not called any more. Returns whether anything was left. */
  cancel(code: number = ErrorCode.CANCEL): boolean {
    this.detach();
    if (this.isClosed) return false;
    this.isClosed = true;
    this.host.cancel(this, code);
    return true;
  }

  /** Closes the stream because the peer broke a rule on it (RFC 9113, 5.4.2). */
  fail(why: string, code: number = ErrorCode.PROTOCOL_ERROR): void {
    if (this.isDetached) return;
    this.cancel(code);
    this.handler?.closed({ how: 'malformed', why });
  }

  close(end: StreamEnd): void {
    this.isClosed = true;
    if (this.isDetached) return;
    this.detach();
    this.handler?.closed(end);
  }

  /** Takes a header section after the first one: trailers. */
  onSection(section: HeaderSection, ends: boolean): void {
    if (ends) this.endRemote();
    if (this.isPaused) {
      // After data, only trailers can come. They must end the stream.
      if (!ends) this.fail('a header section inside a body');
      else if (!this.isDetached) this.#hold().trailers = section;
      return;
    }
    if (this.isDetached) return;
    this.handler?.section(section, ends);
    if (ends) this.#endReceiving();
  }

  onData(bytes: Buffer, flowBytes: number, ends: boolean): void {
    this.#received += flowBytes;
    if (this.#received > this.host.mostReceived) {
      this.host.used(flowBytes);
      this.fail('more than the window of the stream', ErrorCode.FLOW_CONTROL_ERROR);
      return;
    }
    if (ends) this.endRemote();
    if (this.isPaused && !this.isDetached) {
      this.host.used(flowBytes - bytes.length);
      if (bytes.length > 0) this.#hold().join(bytes);
      return;
    }
    this.host.used(flowBytes);
    if (bytes.length === 0) this.#reopen();
    else if (!this.isDetached) {
      const kept = this.host.keep(bytes);
      this.#handOn(kept, kept === bytes ? this.host.release : null);
    }
    if (ends && !this.#isPausedNow()) this.#endReceiving();
  }

  /** Called when the peer's complete message has been passed on. */
  protected abstract finishReceiving(): void;

  /** Keeps the compiler from assuming that a call in between left the stream flowing. */
  #isPausedNow(): boolean {
    return this.isPaused;
  }

  #hold(): HeldPart {
    this.#held ??= new HeldPart();
    return this.#held;
  }

  #handOn(bytes: Buffer, release: Release | null): void {
    this.isPaused = this.handler?.data(bytes, release) === false;
    if (!this.isPaused) this.#reopen();
  }

  #reopen(): void {
    if (this.remote === 'ended' || this.isClosed || this.#received < this.host.streamWindow / 2) return;
    this.host.openWindow(this, this.#received);
    this.#received = 0;
  }

  #endReceiving(): void {
    const trailers = this.#held?.trailers ?? null;
    this.#held = null;
    if (trailers !== null && !this.isDetached) this.handler?.section(trailers, true);
    if (!this.isDetached) this.finishReceiving();
  }

  protected endRemote(): void {
    this.remote = 'ended';
    this.closeIfOver();
  }

  protected closeIfOver(): void {
    if (this.isClosed || this.local !== 'ended' || this.remote !== 'ended') return;
    this.isClosed = true;
    this.host.over(this);
  }

  /** Stops calling the handler, and frees what it has not taken. */
  protected detach(): void {
    this.isDetached = true;
    if (this.#held === null) return;
    this.host.used(this.#held.bytes.length);
    this.#held = null;
  }
}

export interface StreamHandler {
  /** Takes a header section. `ends` is true if nothing follows. */
  section(section: HeaderSection, ends: boolean): void;
  /**
   * Takes a piece of the body, which belongs to the handler until it calls `release`; forever, if that is `null`. Returns false
   * to pause until it resumes the stream.
   */
  data(bytes: Buffer, release: Release | null): boolean;
  /** Called when the complete message has been passed on, ended by END_STREAM. */
  ended(): void;
  /** Called when everything that had to wait was sent. */
  drained(): void;
  /** Called last, when the connection has closed the stream; not after `cancel`. */
  closed(end: StreamEnd): void;
}

export type StreamEnd =
  /** Both sides have ended it. Reported to servers only. */
  | { readonly how: 'done' }
  /** The peer sent RST_STREAM. */
  | { readonly how: 'reset'; readonly code: number }
  /** The peer broke a rule, and RST_STREAM was sent to it. */
  | { readonly how: 'malformed'; readonly why: string }
  /** The server stated in a GOAWAY with this code that it has not processed the stream and will not (RFC 9113, 6.8). */
  | { readonly how: 'unprocessed'; readonly code: number }
  | { readonly how: 'lost' };
