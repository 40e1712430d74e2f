import type { Http2FaultReason } from '../../core/index.ts';

/** Resets allowed in a burst: a user leaves a page, or a caller gives up on all of its requests. */
const RESET_BURST = 500;
/** Resets allowed per second. Each may have cost a request to an upstream (CVE-2023-44487, CVE-2025-8671). */
const RESETS_PER_S = 50;

/** Bytes a second for frames that nothing explains, such as PING and PRIORITY: some thousand frames. */
const UNEXPLAINED_BYTES_PER_S = 65_536;
/** Bytes that streams explain but that may arrive later: a client acknowledges a download after its end. */
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

  /** A stream ended by a reset, the client's or ours. Ours count as well: a client can provoke them. */
  reset(): Http2FaultReason | null {
    return ++this.#resets > RESET_BURST ? 'resets' : null;
  }

  /**
   * To be asked at each sweep.
   *
   * @param bytesRead bytes that the connection has read so far
   * @param explained bytes that its streams explain so far, at least
   * @param perhaps bytes that they may turn out to explain as well
   */
  sweep(nowMs: number, bytesRead: number, explained: number, perhaps: number): Http2FaultReason | null {
    const seconds = (nowMs - this.#seenMs) / 1_000;
    this.#seenMs = nowMs;
    this.#resets = Math.max(0, this.#resets - RESETS_PER_S * seconds);
    this.#credit += explained - this.#explained + UNEXPLAINED_BYTES_PER_S * seconds;
    this.#credit -= bytesRead - this.#bytesRead;
    this.#credit = Math.min(this.#credit, MAX_CREDIT_BYTES);
    this.#explained = explained;
    this.#bytesRead = bytesRead;
    return this.#credit + perhaps < 0 ? 'unexplained_bytes' : null;
  }
}
