export {
  badRequest,
  bodyTooLarge,
  bodyTooSlow,
  clientTooSlow,
  headTooLarge,
  overloaded,
  versionNotSupported,
} from './answers/index.ts';
export { ConnectionMemory } from './connection-memory.ts';
export type { Downstream } from './downstream.ts';
export type { Exchange } from './exchange.ts';
export { Gateway } from './gateway.ts';
export { UnlistedProxies } from './unlisted-proxies.ts';
