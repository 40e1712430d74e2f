export { Board } from './board.ts';
export { RedisClaims } from './claims.ts';
export { RedisOffenceFeed } from './offence-feed.ts';
