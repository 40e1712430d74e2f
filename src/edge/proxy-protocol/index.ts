export { type ProxyHeader, readProxyHeader } from './read-proxy-header.ts';
