export {
  type At,
  type Destination,
  type Forwarded,
  NOWHERE,
  type NoticeHere,
  type OptionsHere,
  type Place,
  type PreflightHere,
  type Redirected,
  type SignInHere,
  webhookOf,
} from './destination.ts';
export { ConnectionMemory, type Downstream, type Successor, type ValidToken } from './downstream.ts';
export { Exchange, limitsConsumedBy, type ResourceUnit, type UpstreamLeg } from './exchange.ts';
export { type ExchangeResponse, SERVED, type Served } from './response.ts';
export type { Standing, Stop } from './standing.ts';
