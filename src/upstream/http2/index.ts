export { SessionPool } from './session-pool.ts';
