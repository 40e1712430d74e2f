export { changesInSteps, changesOf, changesOfLimits } from './compare/index.ts';
export { ENOUGH_FOR_A_PAGE, hintsAtDefaultLimits } from './compile/index.ts';
export {
  type ConfigData,
  compileData,
  type LoadedData,
  withoutTexts,
} from './config-data.ts';
export { type Change, isStricter } from './difference.ts';
export { LimitsText, type QuotaChange } from './edit/index.ts';
export type { Diagnostic, FilePlace, Severity } from './file/index.ts';
export { didYouMean, formatDiagnostic } from './file/index.ts';
export type * from './kept-parts.ts';
export { loadLimitTest } from './limit-test-files.ts';
export { type CallerClaims, KEY_CALLERS, quotaPaths } from './limits/index.ts';
export {
  fromData,
  type LoadedConfig,
  type LoadOptions,
  type LoadResult,
  loadConfig,
} from './load.ts';
export * from './model/index.ts';
export {
  admits,
  applying,
  describeAnswer,
  describeBucketSettings,
  describePolicies,
  describeUpstreamSettings,
  locationFor,
  MIN_BODY_RATE,
  whyOddPathRefused,
} from './policies/index.ts';
export { type PartName, type PartRead, readPart } from './read-part.ts';
export * from './reload/index.ts';
export type { ExpectedOutcome, JsonSchema, TestedRequest } from './schema/index.ts';
export { jsonSchemaOf } from './schema/index.ts';
export type {
  AdminListenerModel,
  CapCost,
  CapsModel,
  DescriptorsModel,
  Http2Model,
  ListenerModel,
  ListenModel,
  MemoryModel,
  RedirectModel,
  StateModel,
  StoreModel,
  TimeoutsModel,
  WorkersModel,
} from './settings/index.ts';
export {
  apiKeysFileSchema,
  areWorkersShown,
  CAP_COSTS,
  claimsByKind,
  descriptorsInWords,
  exceedsDescriptors,
  exceedsMemory,
  fixedPartOfStore,
  fullBytes,
  memoryInWords,
  processBytes,
  roomForCaps,
  workersInWords,
} from './settings/index.ts';
export type * from './snapshot.ts';
