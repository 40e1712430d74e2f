import type { Http2FaultReason } from '../../../core/index.ts';
import { ErrorCode, Http2Fault } from '../http2-fault.ts';

/** Maximum acknowledgements of SETTINGS and PING waiting to be written, as in nghttp2 (CVE-2019-9512, CVE-2019-9515). */
const MAX_ACKNOWLEDGEMENTS = 1_000;
/**
 * Maximum consecutive DATA frames that are empty or only padding and do not end their stream (CVE-2019-9518). Some servers send
 * one when an application flushes nothing.
 */
const MAX_EMPTY_DATA = 100;

/** Counts frames that cause work without content. Throws Http2Fault if there are too many. */
export class FloodCount {
  #acknowledgements = 0;
  #emptyData = 0;

  /** Counts an acknowledgement that has to be written. */
  acknowledgement(): void {
    if (++this.#acknowledgements > MAX_ACKNOWLEDGEMENTS) throw tooMany('SETTINGS or PING', 'control_frames');
  }

  /** Called when the acknowledgements were passed to the socket. */
  acknowledgementsLeft(): void {
    this.#acknowledgements = 0;
  }

  /** Called for a frame with content. */
  content(): void {
    this.#emptyData = 0;
  }

  /** Counts an empty DATA frame. */
  emptyData(): void {
    if (++this.#emptyData > MAX_EMPTY_DATA) throw tooMany('empty DATA', 'invalid_frames');
  }
}

export function tooMany(what: string, reason: Http2FaultReason): Http2Fault {
  return new Http2Fault(ErrorCode.ENHANCE_YOUR_CALM, `too many frames of ${what}`, reason);
}
