export { Board, type BoardConnection, type Fact } from './board.ts';
export { Claims } from './claims.ts';
export { OffenceFeed } from './offence-feed.ts';
