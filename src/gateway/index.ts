export type { RenderedAnswer } from './answers.ts';
export { ConnectionMemory } from './connection-memory.ts';
export type { Downstream } from './downstream.ts';
export type { Exchange } from './exchange.ts';
export { Gateway } from './gateway.ts';
export type { GatewayParts } from './gateway-state.ts';
export type { ProviderFacts } from './identity.ts';
export { Limiting } from './limiting.ts';
export {
  badRequest,
  bodyTooLarge,
  bodyTooSlow,
  clientTooSlow,
  headTooLarge,
  overloaded,
  versionNotSupported,
} from './problems.ts';
export { isReady, type Setup } from './setup.ts';
export type { SharedStore } from './shared-store.ts';
export { Succession, type SuccessionParts } from './succession.ts';
export { UnlistedProxies } from './unlisted-proxies.ts';
