export { type BoundAddresses, Listeners } from './listeners.ts';
