export {
  type Logger,
  type LoggingOptions,
  type LogLosses,
  makeLogger,
  OncePerInterval,
  type PathNaming,
  pseudonymOf,
  standardOutput,
} from './log/index.ts';
export {
  type BucketLabels,
  type Ending,
  joinedLevels,
  type LabelModel,
  type Levels,
  type RouteLabels,
} from './metrics/index.ts';
export { Observation, type ObservationGrowth } from './observation.ts';
export type { Recent, RecentError } from './recent.ts';
export type { DecisionCounts, TopCaller } from './recent-decisions.ts';
export * from './span-export.ts';
