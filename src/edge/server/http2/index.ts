export { Http2Connection } from './http2-connection.ts';
