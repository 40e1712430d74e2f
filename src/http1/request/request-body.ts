import type { BodyLength, BodySink, BodySource } from '../../core/index.ts';
import {
  type BodyDecoder,
  type BodyTerms,
  ChunkedBody,
  JoinedPieces,
  LengthBody,
  NO_TERMS,
} from '../body/index.ts';

/** For the rest of a body that nobody wants, so that its connection can serve again. */
const DISCARDING: BodyTerms = { ...NO_TERMS, deadlineMs: 30_000 };

export interface RequestBodyOwner {
  /** Somebody takes the body from now on. */
  bodyStarted(): void;
  /** More of the body is wanted, or no more for now. */
  bodyFlowChanged(): void;
  /** It outgrew what the route accepts, after its framing had let it in. */
  bodyTooLarge(): void;
}

/** The body of a request: found in the bytes that its connection reads, counted, bounded, and read only when someone takes it. */
export class RequestBody implements BodySource {
  readonly #decoder: BodyDecoder;
  readonly #owner: RequestBodyOwner;
  #terms = NO_TERMS;
  #sink: BodySink | null = null;
  /** What of the bytes at hand is of the body. */
  readonly #found = new JoinedPieces();
  started = false;
  paused = false;
  /** What is still to come goes nowhere. */
  discarded = false;
  /** Of its data, that were wanted. */
  bytes = 0;
  /** With what frames its chunks. */
  #wireBytes = 0;

  constructor(length: BodyLength, owner: RequestBodyOwner) {
    const take = (bytes: Uint8Array, from: number, to: number) => this.#found.add(bytes, from, to);
    this.#decoder = length === 'chunked' ? new ChunkedBody(take) : new LengthBody(length, take);
    this.#owner = owner;
  }

  /** Its last byte has been read. */
  get done(): boolean {
    return this.#decoder.done;
  }

  /** The bytes of the body are wanted now. */
  get flows(): boolean {
    return (this.started && !this.paused) || this.discarded;
  }

  /** What its sender has to keep to. */
  get terms(): BodyTerms {
    return this.#terms;
  }

  /** Sets the terms, before the body is started. */
  under(terms: BodyTerms): this {
    this.#terms = terms;
    return this;
  }

  /** Takes what of the bytes belongs to the body; returns the position behind that. Throws MalformedMessage. */
  read(bytes: Buffer): number {
    this.#found.reset();
    const at = this.#decoder.decode(bytes, 0, bytes.length);
    this.#wireBytes += at;
    if (this.#sink !== null) this.#handOn(bytes, this.#sink);
    return at;
  }

  start(sink: BodySink): void {
    this.started = true;
    this.#sink = sink;
    this.#owner.bodyStarted();
  }

  pause(): void {
    this.paused = true;
    this.#owner.bodyFlowChanged();
  }

  resume(): void {
    this.paused = false;
    this.#owner.bodyFlowChanged();
  }

  /** Lets what is still to come go nowhere. */
  discard(): void {
    this.under(DISCARDING);
    this.#sink = null;
    this.discarded = true;
    this.#owner.bodyFlowChanged();
  }

  #handOn(bytes: Buffer, sink: BodySink): void {
    const { isEmpty, from, to } = this.#found;
    const { maxBytes } = this.#terms;
    this.bytes += to - from;
    if (maxBytes !== null && this.#wireBytes > maxBytes) {
      this.#sink = null;
      this.#owner.bodyTooLarge();
      return;
    }
    if (!isEmpty && !sink.chunk(bytes.subarray(from, to))) this.pause();
    // The sink may have let go of it. Trailers of a request are dropped: nobody has asked for them (RFC 9110, 6.5.1).
    if (this.#decoder.done) this.#sink?.end();
  }
}
