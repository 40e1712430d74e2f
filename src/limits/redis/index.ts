export { Health, RedisConnection, RedisError, Replicas } from './connection/index.ts';
export type { RedisOptions, RedisServers } from './options.ts';
export { Board, RedisClaims, RedisOffenceFeed } from './sharing/index.ts';
export { RedisStore, type RedisStoreDependencies } from './store/index.ts';
