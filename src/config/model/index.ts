export { formatHostPort, parseHostPort } from './host-port.ts';
export type {
  BucketModel,
  CallerClass,
  CapsModel,
  ForwardRoute,
  HostPort,
  IdentityModel,
  LimitRouteModel,
  LimitsModel,
  ListenerModel,
  ListenModel,
  RouteModel,
  SignInRoute,
  Snapshot,
  StoreModel,
  TimeoutsModel,
  UpstreamModel,
} from './model.ts';
