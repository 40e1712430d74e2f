import { type FieldNames, type Fields, NO_NAMES } from '../../../core/index.ts';
import type { HeaderSection } from '../hpack/index.ts';
import { ErrorCode } from '../http2-fault.ts';
import { Stream, type StreamHandler, type StreamHost } from '../session/index.ts';
import { trailerFlaw } from './request-rules.ts';

/** The connection of a stream opened by a client. */
export interface ServerStreamHost extends StreamHost {
  /** Sends the head of a response, or trailers if the status is 0. */
  sendSection(
    stream: ServerStream,
    status: number,
    fields: Fields,
    ends: boolean,
    neverIndexed: FieldNames,
  ): void;
}

/** Receives what arrives on a stream opened by a client. */
export interface RequestHandler extends StreamHandler {
  /** Called if the body turns out to be malformed before any response was sent: answer 400. The stream is then reset. */
  malformed(why: string): void;
}

/** The length of a body that its head does not state. */
export const ANY_LENGTH = -1;
const NO_TRAILERS: Fields = [];

/** One request with its response: a stream of HTTP/2. */
export class ServerStream extends Stream {
  protected override readonly host: ServerStreamHost;
  protected handler: RequestHandler | null = null;
  /** Bytes of the body still to come, by `content-length`; ANY_LENGTH without one. */
  #bytesLeft: number;
  /** True if the request is malformed: the stream is reset after the response (RFC 9113, 8.1.1). */
  #isMalformed: boolean;
  /** True once the final head has been sent. */
  isResponded = false;
  /** True if the client did not cause the reset. */
  isSpared = false;
  /** True once the rest of the request is unwanted. */
  #isRestDropped = false;
  #trailers = NO_TRAILERS;
  #neverIndexed = NO_NAMES;

  constructor(
    id: number,
    host: ServerStreamHost,
    sendWindow: number,
    ends: boolean,
    bytesLeft: number,
    isMalformed: boolean,
  ) {
    super(id, host, sendWindow, 'open', ends ? 'ended' : 'open');
    this.host = host;
    this.isPaused = !ends;
    this.#bytesLeft = bytesLeft;
    this.#isMalformed = isMalformed;
  }

  /** True once the end of the response has been sent. */
  get isAnswered(): boolean {
    return this.local === 'ended';
  }

  /** Sets the receiver of what arrives. */
  begin(handler: RequestHandler): void {
    this.handler = handler;
    if (this.isClosed) this.#done();
  }

  /** Sends the final head: names and values in turn, without `:status`. If `ends`, there is no body. */
  respond(status: number, fields: Fields, ends: boolean, neverIndexed: FieldNames = NO_NAMES): void {
    if (this.isClosed || this.isResponded) return;
    this.isResponded = true;
    this.host.sendSection(this, status, fields, ends && !this.#isMalformed, neverIndexed);
    if (!ends) return;
    this.local = 'ended';
    this.#finishResponse();
  }

  /** Sends an interim response. */
  info(status: number, fields: Fields, neverIndexed: FieldNames = NO_NAMES): void {
    if (!this.isClosed && !this.isResponded) this.host.sendSection(this, status, fields, false, neverIndexed);
  }

  /** Ends the response after everything written. */
  end(trailers: Fields = NO_TRAILERS, neverIndexed: FieldNames = NO_NAMES): void {
    if (this.isClosed || this.local !== 'open') return;
    this.#trailers = trailers;
    this.#neverIndexed = neverIndexed;
    this.endLocal();
  }

  /** Aborts the response. `isProvoked`: the client caused it, which counts against it. */
  breakOff(isProvoked: boolean): void {
    this.isSpared = !isProvoked;
    this.cancel(ErrorCode.INTERNAL_ERROR);
  }

  /**
   * Stops reading the request. The stream is reset with NO_ERROR as soon as the complete response has been sent (RFC 9113, 8.1).
   */
  dropRest(): void {
    if (this.isClosed || this.isReceived) return;
    this.#isRestDropped = true;
    if (this.isAnswered) this.#finishResponse();
  }

  override onSection(section: HeaderSection, ends: boolean): void {
    const flaw = trailerFlaw(section, ends) ?? this.#lengthFlaw(0, ends);
    if (flaw !== null) this.#malformed(flaw);
    else super.onSection(section, ends);
  }

  override onData(bytes: Buffer, flowBytes: number, ends: boolean): void {
    const flaw = this.#isMalformed || this.#isRestDropped ? null : this.#lengthFlaw(bytes.length, ends);
    if (flaw !== null) this.#malformed(flaw);
    if (this.#isMalformed || this.#isRestDropped) {
      // What a client sends until it learns of the reset stays within the window, which is not reopened.
      this.host.used(flowBytes);
      if (ends && !this.isClosed) this.endRemote();
    } else super.onData(bytes, flowBytes, ends);
  }

  protected override finishSending(): void {
    if (!this.#isMalformed) {
      if (this.#trailers.length === 0) this.host.endData(this);
      else this.host.sendSection(this, 0, this.#trailers, true, this.#neverIndexed);
    }
    this.#finishResponse();
  }

  protected finishReceiving(): void {
    this.handler?.ended();
  }

  protected override closeIfOver(): void {
    super.closeIfOver();
    if (this.isClosed) this.#done();
  }

  /** Counts bytes of the body. Returns why they contradict `content-length`. */
  #lengthFlaw(bytes: number, ends: boolean): string | null {
    if (this.#bytesLeft === ANY_LENGTH) return null;
    this.#bytesLeft -= bytes;
    if (this.#bytesLeft < 0) return 'more than content-length says';
    return ends && this.#bytesLeft > 0 ? 'less than content-length says' : null;
  }

  #malformed(why: string): void {
    if (this.#isMalformed || this.isDetached) return;
    if (this.isResponded) {
      this.fail(why);
      return;
    }
    this.#isMalformed = true;
    this.handler?.malformed(why);
  }

  /** Closes the stream after its response; resets it if its request was malformed, or is incomplete. */
  #finishResponse(): void {
    if (this.#isMalformed) this.#resetAfterResponse(ErrorCode.PROTOCOL_ERROR);
    else if (this.#isRestDropped && !this.isReceived) this.#resetAfterResponse(ErrorCode.NO_ERROR);
    else this.closeIfOver();
  }

  #resetAfterResponse(code: number): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.host.cancel(this, code);
    this.#done();
  }

  #done(): void {
    if (this.isDetached || this.handler === null) return;
    this.detach();
    this.handler.closed({ how: 'done' });
  }
}
