import { isPlainHost } from '../../http/index.ts';
import type { Exchange } from '../exchange/index.ts';
import { badRequest, headTooLarge } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** Rejects a head that is too large, not for this gateway, or open to more than one reading. */
export function readHead(exchange: Exchange): GateResult {
  const { fields, framing, memory } = exchange.downstream;
  if (fields.length > exchange.snapshot.caps.fields * 2) return headTooLarge();
  if (typeof framing.bodyLength === 'object') return badRequest(framing.bodyLength.rejected);
  if (memory.arrival === exchange.arrival) return null;
  const result = judgeFields(exchange);
  if (result === null) memory.arrival = exchange.arrival;
  return result;
}

function judgeFields({ head }: Exchange): GateResult {
  if (head.doubled !== null) return badRequest(`the header field "${head.doubled}" came twice`);
  if (head.host !== null && isPlainHost(head.host)) return null;
  return badRequest('the Host header is missing or not a plain host');
}
