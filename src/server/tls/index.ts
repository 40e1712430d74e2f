export { Handshakes } from './tls-handshake.ts';
export { TicketKeys, TlsTermination } from './tls-termination.ts';
