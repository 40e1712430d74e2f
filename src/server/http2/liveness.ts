import { StallTimer } from '../../core/index.ts';

/** What a client is held to. */
export interface LivenessTerms {
  /** A client with streams under way that sends nothing for this long is sent a PING. */
  readonly keepAliveMs: number;
  /** For its acknowledgement, or any other byte. */
  readonly clientReadMs: number;
}

/**
 * Finds out whether the client of a silent connection is still there: a stream may rightly be silent for hours, and a
 * network that is down reports nothing (RFC 9113, 6.7).
 */
export class Liveness {
  readonly #silence = new StallTimer();
  readonly #wait = new StallTimer();
  #bytes = 0;
  #pinged = false;

  /**
   * Whether the client is gone. Ask at each sweep.
   *
   * @param bytes how many have come so far
   * @param busy streams are under way
   */
  isLost(nowMs: number, bytes: number, busy: boolean, terms: LivenessTerms, ping: () => void): boolean {
    const heard = bytes !== this.#bytes || !busy;
    this.#bytes = bytes;
    if (heard) this.#pinged = false;
    const silentMs = this.#silence.waitedMs(nowMs, heard);
    if (this.#pinged) return this.#wait.waitedMs(nowMs, false) > terms.clientReadMs;
    if (silentMs > terms.keepAliveMs) {
      this.#pinged = true;
      this.#wait.begin();
      ping();
    }
    return false;
  }
}
