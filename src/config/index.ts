export { type Change, changesInWords, changesOf, changesOfLimits, isStricter } from './compare/index.ts';
export { type CallerClaims, QUOTA_KEYS } from './compile/index.ts';
export { LimitsText, type QuotaChange } from './edit/index.ts';
export {
  type Diagnostic,
  didYouMean,
  type FilePlace,
  formatDiagnostic,
  type Severity,
} from './file/index.ts';
export { type LoadedConfig, type LoadResult, loadConfig } from './load.ts';
export { type Loaded, loadEither } from './load-either.ts';
export { type LimitsResult, loadLimits } from './load-limits.ts';
export { loadTest } from './load-test.ts';
export {
  type AdminListenerModel,
  type BucketLimits,
  type BucketModel,
  type CallerClass,
  type CapsModel,
  callerClassesOf,
  drawsOnBuckets,
  type ForwardRoute,
  formatHostPort,
  type HostPort,
  type Http2Model,
  hasBots,
  type IdentityModel,
  type LimitRouteModel,
  type LimitsModel,
  type Listed,
  type ListenerModel,
  type ListenModel,
  limitsFor,
  NOTICE_KINDS,
  type NoticeRoute,
  noticesIn,
  type Outline,
  type OwnRoute,
  type PolicyModel,
  type PoolModel,
  type ProviderModel,
  type RouteModel,
  refusesSemicolons,
  type SignInEndpoint,
  type SignInRoute,
  type Snapshot,
  type StoreModel,
  signInProvider,
  type TimeoutsModel,
  type UpstreamModel,
  type WrittenRoute,
} from './model/index.ts';
export { type AdminPlace, readAdmin } from './read-admin.ts';
export { type CallersResult, readCallers } from './read-callers.ts';
export {
  ConfigWatcher,
  type ConfigWatcherOptions,
  type FixedParts,
  RESTART_KEYS,
  type Reload,
  ReloadRecord,
  type RestartKey,
  restartKeys,
} from './reload/index.ts';
export {
  formatSize,
  gatewayJsonSchema,
  type JsonSchema,
  limitsJsonSchema,
  type Outcome,
  type TestedRequest,
  testJsonSchema,
} from './schema/index.ts';
