export { Board, type BoardConnection, type Fact } from './board.ts';
export { OffenceFeed } from './offence-feed.ts';
