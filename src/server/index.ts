export { type ConnectionCaps, ProcessConnectionCaps } from './connection-caps.ts';
export { type BoundAddresses, Listeners } from './listeners.ts';
