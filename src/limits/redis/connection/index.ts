export { Health, Replicas } from './health.ts';
export * from './redis-connection.ts';
