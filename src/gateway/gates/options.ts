import { readMaxForwards } from '../../http/index.ts';
import { addOwnFields, badRequest, USUAL_METHODS } from '../answers/index.ts';
import type { Exchange } from '../exchange.ts';
import type { GateResult } from './gate.ts';

/** RFC 9110, 7.6.2: how far an OPTIONS may go. Of other methods the field says nothing here, and passes as it came. */
export function readOptions(exchange: Exchange): GateResult {
  if (exchange.downstream.method !== 'OPTIONS') return null;
  // Of all fields that came: a client could switch it off by naming it in `Connection`, which nobody may (RFC 9110, 7.6.1).
  const maxForwards = readMaxForwards(exchange.downstream.fields);
  if (typeof maxForwards === 'object' && maxForwards !== null) return badRequest(maxForwards.refused);
  exchange.maxForwards = maxForwards;
  return null;
}

/**
 * The terminal of an OPTIONS that goes no further: it is about the gateway itself (`*`; RFC 9110, 9.3.7), or may not be
 * forwarded any more.
 */
export function serveOptions(exchange: Exchange): void {
  const fields = ['Allow', methodsAt(exchange).join(', ')];
  addOwnFields(fields, exchange, { rate: true, via: true });
  exchange.outcome = 'answered';
  exchange.sendWhole(204, 'No Content', fields, '', false);
}

/** The usual methods that some route takes at the path; OPTIONS is one, since this answers it. */
function methodsAt({ isServerWide, snapshot, path }: Exchange): readonly string[] {
  if (isServerWide) return USUAL_METHODS;
  return USUAL_METHODS.filter(method => method === 'OPTIONS' || snapshot.routes.find(method, path) !== null);
}
