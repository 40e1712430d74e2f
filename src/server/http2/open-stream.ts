import { type GatewayError, StallTimer } from '../../core/index.ts';
import { bodyTooSlow, clientTooSlow, type Exchange } from '../../gateway/index.ts';
import { BodyPace } from '../body-pace.ts';
import type { ListenerState } from '../listener-state.ts';
import type { Http2Downstream } from './http2-downstream.ts';

/**
 * - an error: the client is late, and answered with it
 * - `reset`: it is late, and the stream is reset
 * - null: it is in time
 */
export type StreamLateness = GatewayError | 'reset' | null;

/** A stream whose exchange is under way. */
export class OpenStream {
  readonly downstream: Http2Downstream;
  readonly exchange: Exchange;
  /** Made by the first sweep that finds the stream: most are gone before. */
  #waits: StreamWaits | null = null;

  constructor(downstream: Http2Downstream, exchange: Exchange) {
    this.downstream = downstream;
    this.exchange = exchange;
  }

  /** The body was not read for a moment. */
  bodyPaused(): void {
    this.#waits?.pace.stoodStill();
  }

  /** Whether its client has taken too long. Ask at each sweep, and only then. */
  lateness(nowMs: number, state: ListenerState): StreamLateness {
    this.#waits ??= new StreamWaits();
    return this.#waits.lateness(nowMs, this.downstream, state);
  }
}

/** Times what a stream waits for its client to do. */
class StreamWaits {
  readonly pace = new BodyPace();
  readonly #stall = new StallTimer();
  #bytes = 0;
  #unread = 0;

  lateness(nowMs: number, downstream: Http2Downstream, { timeouts }: ListenerState): StreamLateness {
    const { requestBody: body, unread, bytesReceived } = downstream;
    const moved = bytesReceived !== this.#bytes || unread !== this.#unread;
    this.#bytes = bytesReceived;
    this.#unread = unread;
    const waitedMs = this.#stall.waitedMs(nowMs, moved);
    if (body !== null && this.pace.isTooSlow(nowMs, body)) return bodyTooSlow();
    if (unread > 0) return waitedMs > timeouts.clientReadMs ? 'reset' : null;
    if (downstream.awaitsClient) return waitedMs > timeouts.clientBodyIdleMs ? clientTooSlow() : null;
    this.#stall.begin();
    return null;
  }
}
