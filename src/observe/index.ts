export {
  IdentityListeners,
  LimitListeners,
  Listeners,
  ReloadListeners,
  StoreListeners,
} from './listeners.ts';
export {
  FaultLog,
  IdentityLog,
  LimitLog,
  type Logger,
  Logging,
  type LoggingOptions,
  makeLogger,
  ReloadLog,
  StoreLog,
  standardOutput,
} from './log/index.ts';
export { IdentityMetrics, LimitMetrics, Metrics, ReloadMetrics, StoreMetrics } from './metrics/index.ts';
export { ProxyLog } from './proxy-log.ts';
