export { AdminMetrics, ConnectionMetrics, OverloadMetrics, observeLog } from './connection-metrics.ts';
export {
  IdentityMetrics,
  NoticeMetrics,
  observeRevocations,
  type RevocationView,
} from './identity-metrics.ts';
export type { BucketLabels, Ending, LabelModel, RouteLabels } from './label-model.ts';
export { LimitMetrics, type StoreView } from './limit-metrics.ts';
export { MetricSet } from './metric-set.ts';
export { type ConnectionGauges, ExchangeMetrics } from './metrics.ts';
export { type CertificateView, observeCertificates, ReloadMetrics } from './reload-metrics.ts';
export { type SharingView, StoreMetrics } from './store-metrics.ts';
export type { Tally } from './tally.ts';
