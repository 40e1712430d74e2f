export { type Played, type WarmedGateway, warmUp } from './warm-up.ts';
