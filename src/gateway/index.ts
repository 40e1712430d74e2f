export * from './exchange/index.ts';
export { Gateway } from './gateway.ts';
export * from './responses/index.ts';
export { UnlistedProxies } from './unlisted-proxies.ts';
