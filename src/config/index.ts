export { QUOTA_KEYS } from './compile-limits.ts';
export { ConfigWatcher, type ConfigWatcherOptions, type ReloadSink } from './config-watcher.ts';
export { formatHostPort } from './host-port.ts';
export { gatewayJsonSchema, type JsonSchema, limitsJsonSchema } from './json-schema.ts';
export {
  type LoadedConfig,
  type LoadedLimitRoute,
  type LoadedLimits,
  type LoadedRoute,
  type LoadOptions,
  type LoadResult,
  loadConfig,
} from './load.ts';
export type {
  BucketModel,
  CallerClass,
  CapsModel,
  ForwardRoute,
  HostPort,
  IdentityModel,
  LimitRouteModel,
  LimitsModel,
  ListenModel,
  LogModel,
  RouteModel,
  ShutdownModel,
  SignInRoute,
  Snapshot,
  StoreModel,
  TimeoutsModel,
  UpstreamModel,
} from './model.ts';
export { formatProblem, type Problem, type Severity } from './problem.ts';
export { type ReloadFailure, ReloadRecord, type RunningConfig } from './reload-record.ts';
export { RESTART_KEYS, type RestartKey, restartKeys } from './restart-keys.ts';
export { didYouMean } from './suggest.ts';
