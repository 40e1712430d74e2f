export { Health } from './health.ts';
export { RedisConnection, RedisError, type Reply, type Subscriber } from './redis-connection.ts';
export { Replicas } from './replicas.ts';
export { defineScript, type RedisScript } from './script.ts';
