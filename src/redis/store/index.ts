export { RedisStore, type RedisStoreParts } from './redis-store.ts';
