export { formatHostPort, type HostPort } from '../host-port.ts';
export type { CapsModel, Http2Model, TimeoutsModel } from './bounds-model.ts';
export { hasBots, type IdentityModel, type ProviderModel, signInProvider } from './identity-model.ts';
export type {
  BucketLimits,
  BucketModel,
  CallerClass,
  LimitRouteModel,
  LimitsModel,
  Listed,
  PolicyModel,
  ScopeReason,
  StoreModel,
} from './limits-model.ts';
export type { AdminListenerModel, ListenerModel, ListenModel, RedirectModel } from './listen-model.ts';
export { NOTICE_KINDS, type NoticePlaces, noticesIn } from './notice-places.ts';
export type { Outline, Setting, WrittenRoute } from './outline.ts';
export type {
  ForwardRoute,
  NoticeRoute,
  OwnRoute,
  RouteModel,
  SignInEndpoint,
  SignInRoute,
} from './route-model.ts';
export { callerClassesOf, drawsOnBuckets, limitsFor, refusesSemicolons } from './route-policies.ts';
export type { Snapshot } from './snapshot.ts';
export type { PoolModel, UpstreamModel } from './upstream-model.ts';
