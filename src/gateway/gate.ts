import type { GatewayError } from '../core/index.ts';
import type { Exchange } from './exchange.ts';

/** A step that lets an exchange pass (null) or refuses it (the error that answers it). */
export type Gate = (exchange: Exchange) => GatewayError | null;
