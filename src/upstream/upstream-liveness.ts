import { StallTimer } from '../core/index.ts';
import type { Http2Options } from './transport.ts';

/** Finds out by PING whether an upstream is still there. Ask at each sweep. */
export class UpstreamLiveness {
  readonly #options: Http2Options;
  /** Measures how long nothing has been received. */
  readonly #silence = new StallTimer();
  #bytesRead = 0;
  /** Measures how long a PING has been unacknowledged. */
  readonly #pingWait = new StallTimer();
  #pinged = false;

  constructor(options: Http2Options) {
    this.#options = options;
  }

  /**
   * Decides what to do: wait, send a PING, or give the connection up.
   *
   * @param isIdle true if nothing is expected from the upstream
   */
  sweep(nowMs: number, bytesRead: number, isIdle: boolean): 'wait' | 'ping' | 'give up' {
    const { pingIntervalMs, pingTimeoutMs } = this.#options;
    const heard = bytesRead !== this.#bytesRead;
    this.#bytesRead = bytesRead;
    const silentMs = this.#silence.waitedMs(nowMs, heard || isIdle);
    if (heard) this.#pinged = false;
    if (!this.#pinged) return silentMs >= pingIntervalMs ? 'ping' : 'wait';
    return this.#pingWait.waitedMs(nowMs, false) > pingTimeoutMs ? 'give up' : 'wait';
  }

  /** Notes that a PING is about to be sent. Returns false if one is under way. */
  ping(): boolean {
    if (this.#pinged) return false;
    this.#pinged = true;
    this.#pingWait.begin();
    return true;
  }
}
