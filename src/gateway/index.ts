export * from './exchange/index.ts';
export { Gateway } from './gateway.ts';
export type { NewHeldRequests } from './held-requests.ts';
export { type CommonPermits, type GatewayPermits, ProcessCommonPermits, processPermits } from './permits.ts';
export * from './responses/index.ts';
export { UnlistedProxies } from './unlisted-proxies.ts';
