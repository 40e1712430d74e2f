import type { Exchange } from '../exchange/index.ts';
import { notGrpc } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** Refuses what is no call of gRPC on a listener for calls alone. */
export function refuseForeign({ downstream, protocol }: Exchange): GateResult {
  return downstream.onlyCalls && protocol !== 'grpc' ? notGrpc() : null;
}
