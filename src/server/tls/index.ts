export { Handshakes } from './handshakes.ts';
export { TlsTermination } from './tls-termination.ts';
