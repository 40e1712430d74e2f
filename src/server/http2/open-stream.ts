import { type GatewayError, type Listed, StallTimer } from '../../core/index.ts';
import { bodyTooSlow, clientTooSlow, type Exchange } from '../../gateway/index.ts';
import { BodyPace } from '../body-pace.ts';
import type { ListenerState } from '../listener-state.ts';
import type { Http2Downstream } from './http2-downstream.ts';
import type { RequestHead } from './http2-request-head.ts';
import type { StreamBody } from './stream-body.ts';

/** HEADERS with their frame's header, the pseudo-fields that HTTP/1.1 does not have, and padding. */
const HEADERS_FRAMING_BYTES = 300;
/** The head of a frame (RFC 9113, 4.1). */
const FRAME_HEAD_BYTES = 9;
/** A client may answer each DATA with two WINDOW_UPDATE, and a PING that measures the connection. */
const ACKNOWLEDGEMENT_BYTES = 64;

/**
 * - an error: the client is late, and answered with it
 * - `reset`: it is late, and the stream is reset
 * - null: it is in time
 */
export type StreamLateness = GatewayError | 'reset' | null;

/** A stream whose exchange is under way. */
export class OpenStream implements Listed {
  place = -1;
  readonly downstream: Http2Downstream;
  readonly exchange: Exchange;
  readonly #headBytes: number;
  /** Made by the first sweep that finds the stream: most are gone before. */
  #waits: StreamWaits | null = null;

  constructor(downstream: Http2Downstream, exchange: Exchange, head: RequestHead) {
    this.downstream = downstream;
    this.exchange = exchange;
    this.#headBytes = head.bytes;
  }

  /** Bytes that its client may have sent because of it: those of the request, and what the response makes it send. */
  get explainedBytes(): number {
    const { bytesReceived, piecesReceived, stream, writes } = this.downstream;
    const request = this.#headBytes + HEADERS_FRAMING_BYTES + bytesReceived + stream.readableLength;
    return request + piecesReceived * FRAME_HEAD_BYTES + writes * ACKNOWLEDGEMENT_BYTES;
  }

  /** Bytes that may have come as heads of the frames that wait to be read, at most: each byte may have had a frame of its own. */
  get waitingHeadBytes(): number {
    return this.downstream.stream.readableLength * FRAME_HEAD_BYTES;
  }

  /** Whether its client has taken too long. Ask at each sweep, and only then. */
  lateness(nowMs: number, state: ListenerState): StreamLateness {
    if (!this.exchange.dialect.isPaced) return null;
    this.#waits ??= new StreamWaits();
    return this.#waits.lateness(nowMs, this.downstream, state);
  }
}

/** Times what a stream waits for its client to do. */
class StreamWaits {
  readonly #pace = new BodyPace();
  readonly #stall = new StallTimer();
  #bytesReceived = 0;
  #unread = 0;

  lateness(nowMs: number, downstream: Http2Downstream, { timeouts }: ListenerState): StreamLateness {
    const { requestBody: body, bytesReceived } = downstream;
    // Bytes of the response that the client has yet to take.
    const unread = downstream.stream.bufferSize;
    const moved = bytesReceived !== this.#bytesReceived || unread !== this.#unread;
    this.#bytesReceived = bytesReceived;
    this.#unread = unread;
    const waitedMs = this.#stall.waitedMs(nowMs, moved);
    if (body?.done === false && this.#isTooSlow(nowMs, body)) return bodyTooSlow();
    if (unread > 0) return waitedMs > timeouts.clientReadMs ? 'reset' : null;
    if (downstream.awaitsClient) return waitedMs > timeouts.clientBodyIdleMs ? clientTooSlow() : null;
    this.#stall.begin();
    return null;
  }

  #isTooSlow(nowMs: number, body: StreamBody): boolean {
    if (body.stoodStill) this.#pace.stoodStill();
    body.stoodStill = false;
    return this.#pace.isTooSlow(nowMs, body);
  }
}
