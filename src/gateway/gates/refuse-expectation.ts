import type { Exchange } from '../exchange/index.ts';
import { expectationNotMet } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** Refuses an expectation other than `100-continue` (RFC 9110, 10.1.1). */
export function refuseExpectation({ downstream }: Exchange): GateResult {
  return downstream.framing.expectation === 'unknown' ? expectationNotMet() : null;
}
