export { Connection } from './connection.ts';
