import type { GatewayError } from '../../core/index.ts';
import type { Exchange } from '../exchange.ts';

/** Null: pass. An error: the answer. */
export type GateResult = GatewayError | null;

/**
 * A step that lets an exchange pass or refuses it. It decides at once, unless it has to wait for something outside (the
 * issuer's keys, a store); only then it returns a promise.
 */
export type Gate = (exchange: Exchange) => GateResult | Promise<GateResult>;
