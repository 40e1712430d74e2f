export { ConnectionMemory } from './connection-memory.ts';
export {
  type Destination,
  type Forwarded,
  makeDestination,
  NOWHERE,
  type NoticeHere,
  type OptionsHere,
  type PreflightHere,
  type Redirected,
  type SignInHere,
  webhookOf,
} from './destination.ts';
export type { Downstream, Successor } from './downstream.ts';
export { drawsAs } from './draws-as.ts';
export { Exchange } from './exchange.ts';
export type { Response } from './response.ts';
export type { ResourceUnit } from './ruling.ts';
export { SERVED, type Served } from './served.ts';
export type { UpstreamLeg } from './upstream-leg.ts';
export type { ValidToken } from './valid-token.ts';
