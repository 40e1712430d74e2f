export {
  type Logger,
  type LoggingOptions,
  type LogLosses,
  makeLogger,
  type PathNaming,
  pseudonymOf,
  standardOutput,
} from './log/index.ts';
export type {
  BucketLabels,
  CertificateView,
  Ending,
  EndpointsView,
  LabelModel,
  RouteLabels,
} from './metrics/index.ts';
export { Observation } from './observation.ts';
export type { Recent, RecentError } from './recent.ts';
export type { DecisionCounts, TopCaller } from './recent-decisions.ts';
export * from './span-export.ts';
