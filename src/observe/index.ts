export { AccessLog, FaultLog } from './access-log.ts';
export { IdentityLog } from './identity-log.ts';
export { IdentityMetrics } from './identity-metrics.ts';
export { LimitLog } from './limit-log.ts';
export { LimitMetrics } from './limit-metrics.ts';
export { IdentityListeners, LimitListeners, Listeners } from './listeners.ts';
export { type Logger, type LogOutput, makeLogger, standardOutput } from './logger.ts';
export { type Gauges, Metrics } from './metrics.ts';
export { Pseudonyms } from './pseudonyms.ts';
