export type { ProxyHeader } from './proxy-header.ts';
export { readProxyHeader } from './read-proxy-header.ts';
