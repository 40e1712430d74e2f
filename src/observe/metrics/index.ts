export {
  AdminMetrics,
  type CertificateView,
  ConnectionMetrics,
  OverloadMetrics,
  observeCertificates,
  observeLog,
  ReloadMetrics,
  type SharingView,
  StoreMetrics,
} from './gateway-metrics.ts';
export type { BucketLabels, Ending, LabelModel, RouteLabels } from './label-model.ts';
export { MetricSet, type Tally } from './metric-set.ts';
export {
  type ConnectionGauges,
  ExchangeMetrics,
  IdentityMetrics,
  LimitMetrics,
  NoticeMetrics,
  observeRevocations,
  type RevocationView,
  type StoreView,
} from './request-metrics.ts';
export { type EndpointsView, UpstreamMetrics } from './upstream-metrics.ts';
