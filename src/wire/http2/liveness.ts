import { StallTimer } from '../../core/index.ts';

/** How long the peer may be silent. */
interface LivenessTerms {
  /** How long it may be silent before it gets a PING, if something is expected of it. */
  readonly pingIntervalMs: number;
  /** How long it may stay silent after a PING before the connection counts as lost. Any byte ends the silence. */
  readonly pingTimeoutMs: number;
}

/**
 * Uses PING to find out whether the peer of a silent connection is still there (RFC 9113, 6.7): a stream may legitimately be
 * silent for hours, and a network that is down reports nothing.
 */
export class Liveness {
  readonly #silence = new StallTimer();
  #bytesRead = 0;
  /** Measures how long a PING has been unanswered. */
  readonly #pingWait = new StallTimer();
  #pinged = false;

  /**
   * Decides whether to wait, send a PING, or give up the connection. Call it at every sweep.
   *
   * @param bytesRead bytes received so far
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

  /** Called when something other than received bytes shows that the peer is alive. */
  heard(): void {
    this.#silence.begin();
    this.#pinged = false;
  }

  /** Records that a PING is about to be sent. Returns false if one is already unanswered. */
  ping(): boolean {
    if (this.#pinged) return false;
    this.#pinged = true;
    this.#pingWait.begin();
    return true;
  }
}
