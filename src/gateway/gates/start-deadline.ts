import type { Exchange } from '../exchange/index.ts';
import { badDeadline } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** Starts the time that the client gives the exchange, where its protocol has a way to say so. */
export function startDeadline(exchange: Exchange): GateResult {
  const timeoutMs = exchange.dialect.timeoutMs(exchange.head.kept);
  if (timeoutMs === null) return null;
  if (typeof timeoutMs === 'object') return badDeadline(timeoutMs.rejected);
  exchange.deadline = setTimeout(() => exchange.expire(), timeoutMs).unref();
  return null;
}
