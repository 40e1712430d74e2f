export { RedisStore, type RedisStoreDependencies } from './redis-store.ts';
