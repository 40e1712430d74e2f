export { type CertificateView, observeCertificates } from './certificate-metrics.ts';
export { ConnectionMetrics } from './connection-metrics.ts';
export { IdentityMetrics } from './identity-metrics.ts';
export type { BucketLabels, Ending, LabelModel, RouteLabels } from './label-model.ts';
export { LimitMetrics, type StoreView } from './limit-metrics.ts';
export { type ConnectionGauges, Metrics } from './metrics.ts';
export { OverloadMetrics } from './overload-metrics.ts';
export { ReloadMetrics } from './reload-metrics.ts';
export { type SharingView, StoreMetrics } from './store-metrics.ts';
