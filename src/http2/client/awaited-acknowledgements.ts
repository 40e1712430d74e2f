import { ErrorCode } from '../error-code.ts';
import { Http2Fault } from '../http2-fault.ts';

/** SETTINGS and PINGs of ours that have not been acknowledged. Throws Http2Fault at an acknowledgement of nothing. */
export class AwaitedAcknowledgements {
  /** Those of the preface. */
  #settings = 1;
  #pings = 0;

  pingSent(): void {
    this.#pings++;
  }

  ofSettings(): void {
    if (this.#settings-- === 0) throw unsolicited();
  }

  ofPing(): void {
    if (this.#pings-- === 0) throw unsolicited();
  }
}

function unsolicited(): Http2Fault {
  return new Http2Fault(ErrorCode.PROTOCOL_ERROR, 'an acknowledgement of nothing');
}
