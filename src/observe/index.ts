export { FaultLog } from './access-log.ts';
export { IdentityLog } from './identity-log.ts';
export { IdentityMetrics } from './identity-metrics.ts';
export { LimitLog } from './limit-log.ts';
export { LimitMetrics } from './limit-metrics.ts';
export {
  IdentityListeners,
  LimitListeners,
  Listeners,
  ReloadListeners,
  StoreListeners,
} from './listeners.ts';
export { type LogOutput, standardOutput } from './log-output.ts';
export { type Logger, makeLogger } from './logger.ts';
export { Logging, type LoggingOptions } from './logging.ts';
export { type Gauges, Metrics } from './metrics.ts';
export { ProxyLog } from './proxy-log.ts';
export { ReloadLog } from './reload-log.ts';
export { ReloadMetrics } from './reload-metrics.ts';
export { StoreLog } from './store-log.ts';
export { StoreMetrics } from './store-metrics.ts';
