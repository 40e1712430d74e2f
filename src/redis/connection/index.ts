export { RedisConnection, RedisError, type Reply } from './connection.ts';
export { Health } from './health.ts';
export { Replicas } from './replicas.ts';
export { defineScript, type RedisScript } from './script.ts';
