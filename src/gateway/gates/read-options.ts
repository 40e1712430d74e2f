import { readMaxForwards } from '../../http/index.ts';
import type { Exchange } from '../exchange/index.ts';
import { badRequest } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** Reads how far an OPTIONS may go (RFC 9110, 7.6.2). With other methods the field is ignored and passed on unchanged. */
export function readOptions(exchange: Exchange): GateResult {
  if (exchange.downstream.method !== 'OPTIONS') return null;
  // Reads all fields, not only those kept: otherwise a client could hide it by naming it in `Connection` (RFC 9110, 7.6.1).
  const maxForwards = readMaxForwards(exchange.downstream.fields);
  if (typeof maxForwards === 'object' && maxForwards !== null) return badRequest(maxForwards.rejected);
  exchange.maxForwards = maxForwards;
  return null;
}
