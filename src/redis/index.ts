export { Board, type BoardConnection, type BoardParts, type Fact, type Topic } from './board.ts';
export { RedisConnection, RedisError } from './connection.ts';
export { Health } from './health.ts';
export { type FeedConnection, OffenceFeed, type OffenceFeedParts } from './offence-feed.ts';
export type { Credentials, FailurePolicy, RedisAddress, RedisOptions, RedisServers } from './options.ts';
export { RedisStore, type RedisStoreParts } from './redis-store.ts';
export { Replicas } from './replicas.ts';
export type { RedisScript } from './scripts.ts';
