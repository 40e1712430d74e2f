export { Connection } from './http1-connection.ts';
