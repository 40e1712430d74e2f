export { type Played, playWarmUp, type WarmedGateway } from './warm-up.ts';
