import { ErrorCode } from '../error-code.ts';
import { Http2Fault } from '../http2-fault.ts';

/** Acknowledgements of SETTINGS and PING that may wait to be written, as many as nghttp2 allows (CVE-2019-9512, CVE-2019-9515). */
const MAX_ACKNOWLEDGEMENTS = 1_000;
/** DATA frames in a row that are empty, or padding alone, and end nothing (CVE-2019-9518). Some servers send one where an application flushes nothing. */
const MAX_EMPTY_DATA = 100;

/** Counts what makes work and carries nothing. Throws Http2Fault where it is too much. */
export class FloodCount {
  #acknowledgements = 0;
  #emptyData = 0;

  /** One has to be written. */
  acknowledgement(): void {
    if (++this.#acknowledgements > MAX_ACKNOWLEDGEMENTS) throw tooMuch('SETTINGS or PING');
  }

  /** They have been handed to the socket. */
  acknowledgementsLeft(): void {
    this.#acknowledgements = 0;
  }

  /** Something has come on a stream that carries something. */
  content(): void {
    this.#emptyData = 0;
  }

  /** One has come. */
  emptyData(): void {
    if (++this.#emptyData > MAX_EMPTY_DATA) throw tooMuch('empty DATA');
  }
}

function tooMuch(what: string): Http2Fault {
  return new Http2Fault(ErrorCode.ENHANCE_YOUR_CALM, `too many frames of ${what}`);
}
