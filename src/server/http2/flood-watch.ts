import type { Http2FaultReason } from '../../core/index.ts';

/** Most resets in a burst, as when a user leaves a page or a caller gives up all of its requests. */
const RESET_BURST = 500;
/** Most resets a second over time. Each may have cost a request to an upstream (CVE-2023-44487, CVE-2025-8671). */
const RESETS_PER_S = 50;

/** Most bytes a second of frames that no stream explains, such as PING and PRIORITY: some thousand frames. */
const UNEXPLAINED_BYTES_PER_S = 65_536;
/** Most bytes that streams explain and that may still arrive: a client acknowledges a download after its end. */
const MAX_CREDIT_BYTES = 1_048_576;

/**
 * Notices clients that cost more than they ask for, by what can be counted without a look at each frame: resets, and bytes that
 * are part of no request and acknowledge no response. nghttp2 and Node notice the rest (docs/http2.md).
 */
export class FloodWatch {
  #resets = 0;
  #credit = MAX_CREDIT_BYTES / 4;
  #bytesRead = 0;
  #explained = 0;
  #seenMs: number;

  constructor(nowMs: number) {
    this.#seenMs = nowMs;
  }

  /** Counts a stream that was reset, by the client or by us: a client can provoke our resets. Returns the fault if there were too many. */
  reset(): Http2FaultReason | null {
    return ++this.#resets > RESET_BURST ? 'resets' : null;
  }

  /**
   * Returns the fault if more bytes came than the streams explain. Ask at each sweep.
   *
   * @param bytesRead bytes that the connection has read so far
   * @param explained bytes that its streams explain so far with certainty
   * @param maybeExplained bytes that the streams may have caused, but need not have
   */
  sweep(
    nowMs: number,
    bytesRead: number,
    explained: number,
    maybeExplained: number,
  ): Http2FaultReason | null {
    const seconds = (nowMs - this.#seenMs) / 1_000;
    this.#seenMs = nowMs;
    this.#resets = Math.max(0, this.#resets - RESETS_PER_S * seconds);
    this.#credit += explained - this.#explained + UNEXPLAINED_BYTES_PER_S * seconds;
    this.#credit -= bytesRead - this.#bytesRead;
    this.#credit = Math.min(this.#credit, MAX_CREDIT_BYTES);
    this.#explained = explained;
    this.#bytesRead = bytesRead;
    return this.#credit + maybeExplained < 0 ? 'unexplained_bytes' : null;
  }
}
