export * from './gateway-metrics.ts';
export type { BucketLabels, Ending, LabelModel, RouteLabels } from './label-model.ts';
export { joinedLevels, type Levels, type MetricGrowth, MetricSet, type Tally } from './metric-set.ts';
export * from './request-metrics.ts';
