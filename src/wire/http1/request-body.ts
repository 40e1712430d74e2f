import type { BodyLength, BodySink, BodySource } from '../../core/index.ts';
import { ChunkedBody } from './chunked-body.ts';
import { type BodyDecoder, type BodyTerms, JoinedPieces, LengthBody, NO_TERMS } from './message.ts';

/** Terms for an unwanted body that is read to its end, so that its connection can serve again. */
const DISCARDING: BodyTerms = { ...NO_TERMS, deadlineMs: 30_000 };

/**
 * Maximum bytes of extensions in all chunks of a body together. They have no meaning here, so a client can only send them to
 * cause work.
 */
const MAX_EXTENSION_BYTES = 16_384;

/** Is notified how the body of a request is read. */
export interface RequestBodyOwner {
  /** Called when the body gets a sink. */
  bodyStarted(): void;
  /** Called when the body starts or stops being read. */
  bodyFlowChanged(): void;
  /** Called when the body turns out larger than its terms allow, though its framing did not show it. */
  bodyTooLarge(): void;
}

/** The body of a request, found in the bytes of its connection: counted, bounded, and read only while it has a sink. */
export class RequestBody implements BodySource {
  readonly #decoder: BodyDecoder;
  readonly #owner: RequestBodyOwner;
  #terms = NO_TERMS;
  #sink: BodySink | null = null;
  /** The body's part of the current bytes. */
  readonly #found = new JoinedPieces();
  started = false;
  paused = false;
  /** True if the rest is discarded. */
  discarded = false;
  /** Bytes of data passed on. */
  bytes = 0;
  /** Bytes received, including chunk framing. */
  #wireBytes = 0;

  constructor(length: BodyLength, owner: RequestBodyOwner) {
    const take = (bytes: Uint8Array, from: number, to: number) => this.#found.add(bytes, from, to);
    this.#decoder =
      length === 'chunked' ? new ChunkedBody(take, MAX_EXTENSION_BYTES) : new LengthBody(length, take);
    this.#owner = owner;
  }

  get done(): boolean {
    return this.#decoder.done;
  }

  get flows(): boolean {
    return (this.started && !this.paused) || this.discarded;
  }

  /** The limits on how it is sent. */
  get terms(): BodyTerms {
    return this.#terms;
  }

  /** Sets the terms, before the body is started. */
  withTerms(terms: BodyTerms): this {
    this.#terms = terms;
    return this;
  }

  /** Reads the body's bytes from the beginning of these; returns the position after them. Throws MalformedMessage. */
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

  discard(): void {
    this.withTerms(DISCARDING);
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
    // The sink may have given up. Drop the request's trailers, which the upstream did not request (RFC 9110, 6.5.1).
    if (this.#decoder.done) this.#sink?.end();
  }
}
