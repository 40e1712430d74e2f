export { AccessLog, FaultLog } from './access-log.ts';
export { Listeners } from './listeners.ts';
export { type Logger, makeLogger, standardOutput } from './logger.ts';
export { type Gauges, Metrics } from './metrics.ts';
