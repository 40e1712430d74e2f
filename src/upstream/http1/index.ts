export { ConnectionPool } from './connection-pool.ts';
