export { formatHostPort, parseHostPort } from './host-port.ts';
export type {
  AdminListenerModel,
  BucketModel,
  CallerClass,
  CapsModel,
  ForwardRoute,
  HostPort,
  Http2Model,
  IdentityModel,
  LimitRouteModel,
  LimitsModel,
  ListenerModel,
  ListenModel,
  PoolModel,
  RedirectModel,
  RouteModel,
  SignInRoute,
  Snapshot,
  StoreModel,
  TimeoutsModel,
  UpstreamModel,
} from './model.ts';
export { callerClassesOf, drawsOnBuckets, refusesSemicolons } from './route-policies.ts';
