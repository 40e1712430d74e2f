import type { GatewayError } from '../../core/index.ts';
import type { Exchange } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';

/** The error that answers the exchange, or `null` to let it pass. */
export type GateResult = GatewayError | null;

/**
 * A step that passes or refuses an exchange. Returns a promise only if it has to wait for something outside, such as keys or a
 * store.
 */
export type Gate = (exchange: Exchange, state: GatewayState) => GateResult | Promise<GateResult>;
