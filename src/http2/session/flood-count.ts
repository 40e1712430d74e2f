import type { Http2FaultReason } from '../../core/index.ts';
import { ErrorCode, Http2Fault } from '../http2-fault.ts';

/** Maximum acknowledgements of SETTINGS and PING that may wait to be written, as in nghttp2 (CVE-2019-9512, CVE-2019-9515). */
const MAX_ACKNOWLEDGEMENTS = 1_000;
/**
 * Most DATA frames in a row that are empty or only padding and do not end their stream (CVE-2019-9518). Some servers send one
 * when an application flushes nothing.
 */
const MAX_EMPTY_DATA = 100;

/** Counts frames that make work and carry nothing. Throws Http2Fault if there are too many. */
export class FloodCount {
  #acknowledgements = 0;
  #emptyData = 0;

  /** Counts an acknowledgement that has to be written. */
  acknowledgement(): void {
    if (++this.#acknowledgements > MAX_ACKNOWLEDGEMENTS) throw tooMany('SETTINGS or PING', 'control_frames');
  }

  /** Notes that the acknowledgements have been handed to the socket. */
  acknowledgementsLeft(): void {
    this.#acknowledgements = 0;
  }

  /** Notes a frame that carries content. */
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
