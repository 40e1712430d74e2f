export { Buffered } from './buffered.ts';
export { type BoundAddresses, Listeners } from './listeners.ts';
export { TicketKeys } from './ticket-keys.ts';
