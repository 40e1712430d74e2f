import type { GatewayError } from '../../core/index.ts';
import { globalClaim } from '../../runtime/index.ts';
import type { Exchange } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import type { Gate, GateResult } from './gate.ts';
import { recallToken } from './identify.ts';
import { drawOn } from './limit.ts';
import { restrictCaller } from './restrict.ts';

/** The request cannot be read with certainty, so that nothing is counted on it. */
const BAD_REQUEST = 400;

/**
 * Makes the refusals of a gate before the limits draw on the global limit of their sender: scans for paths and methods count as
 * any other request, and get 429 beyond the limit.
 */
export function drawingUnserved(gate: (exchange: Exchange, state: GatewayState) => GateResult): Gate {
  return (exchange, state) => {
    const refusal = gate(exchange, state);
    return refusal === null || refusal.status === BAD_REQUEST ? refusal : drawFor(refusal, exchange, state);
  };
}

/** Verifies nothing: the sender is the caller whose token is remembered, else its address. */
function drawFor(
  refusal: GatewayError,
  exchange: Exchange,
  state: GatewayState,
): GateResult | Promise<GateResult> {
  if (!exchange.destination.isPreflight) recallToken(exchange);
  const restricted = restrictCaller(exchange, state);
  if (restricted !== null) return restricted;
  const callerClass = exchange.caller?.kind ?? 'address';
  const claim = globalClaim(exchange.snapshot.limits, callerClass, exchange.callerKey);
  const limited = drawOn(exchange, claim, state);
  return limited instanceof Promise ? limited.then(awaited => awaited ?? refusal) : (limited ?? refusal);
}
