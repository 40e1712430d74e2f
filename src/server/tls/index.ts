export { Handshakes } from './handshakes.ts';
export { TicketKeys } from './ticket-keys.ts';
export { TlsTermination } from './tls-termination.ts';
