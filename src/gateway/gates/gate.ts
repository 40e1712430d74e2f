import type { GatewayError } from '../../core/index.ts';
import type { Exchange } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';

/** Null: pass. An error: the response. */
export type GateResult = GatewayError | null;

/**
 * A step that lets an exchange pass or refuses it. Decides at once unless it has to wait for something outside (the issuer's
 * keys, a store); only then does it return a promise.
 */
export type Gate = (exchange: Exchange, state: GatewayState) => GateResult | Promise<GateResult>;
