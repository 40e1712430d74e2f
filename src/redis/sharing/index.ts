export { Board, type BoardConnection, Claims, type Fact } from './board.ts';
export { OffenceFeed } from './offence-feed.ts';
