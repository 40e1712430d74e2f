export { ConnectionPool } from './http1/index.ts';
export { openTransport } from './open-transport.ts';
export type { Http2Options, UpstreamOptions, UpstreamProtocol, UpstreamTls } from './options.ts';
export type { CallSink, Transport, TransportCall, UpstreamFailure } from './transport.ts';
export { type TransportMap, Transports } from './transports.ts';
