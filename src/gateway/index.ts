export {
  ConnectionMemory,
  type Downstream,
  type Exchange,
  type Successor,
  webhookOf,
} from './exchange/index.ts';
export { Gateway } from './gateway.ts';
export { type GatewayPermits, processPermits } from './permits.ts';
export {
  badRequest,
  bodyTooLarge,
  bodyTooSlow,
  clientTooSlow,
  headTooLarge,
  internalFault,
  overloaded,
  RateLimitError,
  type RenderedResponse,
  renderError,
  versionNotSupported,
} from './responses/index.ts';
export { UnlistedProxies } from './unlisted-proxies.ts';
