export { AdminMetrics, ConnectionMetrics, OverloadMetrics } from './connection-metrics.ts';
export {
  IdentityMetrics,
  NoticeMetrics,
  observeRevocations,
  type RevocationView,
} from './identity-metrics.ts';
export type { BucketLabels, Ending, LabelModel, RouteLabels } from './label-model.ts';
export { LimitMetrics, type StoreView } from './limit-metrics.ts';
export { observeLog } from './log-metrics.ts';
export { type ConnectionGauges, Metrics } from './metrics.ts';
export { type CertificateView, observeCertificates, ReloadMetrics } from './reload-metrics.ts';
export { type SharingView, StoreMetrics } from './store-metrics.ts';
export type { Tally } from './tally.ts';
