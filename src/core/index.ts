export { type Clock, systemClock } from './clock.ts';
export { parseDurationMs } from './duration.ts';
export type { ExchangeListener, ExchangeRecord, Outcome } from './events.ts';
export { type ErrorDetail, type ErrorSide, GatewayError, type GatewayErrorOptions } from './error.ts';
export { type Fields, firstValue } from './fields.ts';
export { type Random, systemRandom } from './random.ts';
export { requestIdSource } from './request-id.ts';
export { RpcCode } from './rpc-code.ts';
export type { DiscoveryEvent, RedeemEvent, RedeemOutcome, SignInListener } from './sign-in-listener.ts';
