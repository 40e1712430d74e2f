export { FirstBytes } from './first-bytes.ts';
export { Http2Connection } from './http2-connection.ts';
