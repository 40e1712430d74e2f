export type { CallerClass } from '../../core/index.ts';
export { formatHostPort, type HostPort } from '../host-port.ts';
export type { PoolModel, UpstreamModel } from '../upstream-model.ts';
export type { CapsModel, Http2Model, TimeoutsModel } from './bounds-model.ts';
export {
  hasBots,
  type IdentityModel,
  type NoticePlaces,
  noticeKindsIn,
  type ProviderModel,
  signInProvider,
} from './identity-model.ts';
export type {
  BucketLimits,
  BucketModel,
  LimitRouteModel,
  LimitsModel,
  Listed,
  PolicyModel,
  ScopeReason,
  StoreModel,
} from './limits-model.ts';
export type {
  AdminListenerModel,
  ListenerModel,
  ListenModel,
  RedirectModel,
} from './listen-model.ts';
export {
  callerClassesOf,
  consumesBuckets,
  type ForwardRoute,
  limitsFor,
  type NoticeRoute,
  type OwnRoute,
  type RouteModel,
  refusesSemicolons,
  type SignInEndpoint,
  type SignInRoute,
} from './route-model.ts';
export type { Outline, OutlineSetting, Snapshot, WrittenRoute } from './snapshot.ts';
