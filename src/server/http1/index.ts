export { Http1Connection } from './http1-connection.ts';
