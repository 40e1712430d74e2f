export { IdentityMetrics } from './identity-metrics.ts';
export { LimitMetrics } from './limit-metrics.ts';
export { Metrics } from './metrics.ts';
export { ReloadMetrics } from './reload-metrics.ts';
export { StoreMetrics } from './store-metrics.ts';
