export * from './exchange/index.ts';
export { Gateway } from './gateway.ts';
export { type GatewayPermits, processPermits } from './permits.ts';
export * from './responses/index.ts';
export { UnlistedProxies } from './unlisted-proxies.ts';
