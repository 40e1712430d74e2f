export {
  type AnsweredHere,
  type At,
  type Destination,
  type Forwarded,
  type MetadataHere,
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
export * from './exchange.ts';
export type { EndedBy, Standing } from './standing.ts';
