export { RedisConnection, RedisError } from './connection.ts';
export { Health } from './health.ts';
export type { Credentials, FailurePolicy, RedisAddress, RedisOptions, RedisServers } from './options.ts';
export { RedisStore, type RedisStoreParts } from './redis-store.ts';
export { Replicas } from './replicas.ts';
export { defineScript, type RedisScript } from './scripts.ts';
