import { StallTimer } from '../core/index.ts';

/** How long the peer may be silent. */
interface LivenessTerms {
  /** If something is expected of it: how long it may be silent before it gets a PING. */
  readonly pingIntervalMs: number;
  /** How long it may be silent after a PING before the connection counts as lost. Any byte ends the silence. */
  readonly pingTimeoutMs: number;
}

/**
 * Finds out by PING whether the peer of a silent connection is still there (RFC 9113, 6.7): a stream may rightly be silent for
 * hours, and a network that is down reports nothing.
 */
export class Liveness {
  /** Measures how long nothing has been received. */
  readonly #silence = new StallTimer();
  #bytesRead = 0;
  /** Measures how long a PING has been unanswered. */
  readonly #pingWait = new StallTimer();
  #pinged = false;

  /**
   * Decides what to do: wait, send a PING, or give the connection up. Call it at every sweep.
   *
   * @param bytesRead how many bytes have arrived so far
   * @param isIdle true if nothing is expected of the peer
   */
  sweep(
    nowMs: number,
    bytesRead: number,
    isIdle: boolean,
    { pingIntervalMs, pingTimeoutMs }: LivenessTerms,
  ): 'wait' | 'ping' | 'give up' {
    const heard = bytesRead !== this.#bytesRead;
    this.#bytesRead = bytesRead;
    const silentMs = this.#silence.waitedMs(nowMs, heard || isIdle);
    if (heard) this.#pinged = false;
    if (!this.#pinged) return silentMs >= pingIntervalMs ? 'ping' : 'wait';
    return this.#pingWait.waitedMs(nowMs, false) > pingTimeoutMs ? 'give up' : 'wait';
  }

  /** The peer is alive: something else than a byte of it says so. */
  heard(): void {
    this.#silence.begin();
    this.#pinged = false;
  }

  /** Notes that a PING is about to be sent. Returns false if one is in progress. */
  ping(): boolean {
    if (this.#pinged) return false;
    this.#pinged = true;
    this.#pingWait.begin();
    return true;
  }
}
