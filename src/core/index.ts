export type { AuthListener, FlawedKey } from './auth-listener.ts';
export type { BodyLength, BodySink, BodySource, LendingBytes, Release } from './body.ts';
export { type Clock, systemClock } from './clock.ts';
export { digestOf } from './digest.ts';
export { parseDurationMs } from './duration.ts';
export {
  type Cap,
  type ErrorDetail,
  type ErrorSide,
  GatewayError,
  type GatewayErrorOptions,
} from './error.ts';
export type { DecisionRecord, ExchangeListener, ExchangeRecord, Outcome, TokenRefusal } from './events.ts';
export { type Fields, firstValue } from './fields.ts';
export { GrowingBytes } from './growing-bytes.ts';
export type { DecisionEvent, LimitListener, RestrictionEvent } from './limit-listener.ts';
export { ownString } from './own-string.ts';
export type { ProxyListener, UnlistedProxy } from './proxy-listener.ts';
export { type Random, randomKey, systemRandom } from './random.ts';
export type { AppliedEvent, ConfigEvent, ReloadListener } from './reload-listener.ts';
export { requestIdSource } from './request-id.ts';
export { RpcCode } from './rpc-code.ts';
export type { DiscoveryEvent, RedeemEvent, RedeemOutcome, SignInListener } from './sign-in-listener.ts';
export type { DecidedBy, StoreFailure, StoreListener } from './store-listener.ts';
