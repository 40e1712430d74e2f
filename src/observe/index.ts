export { AccessLog, FaultLog } from './access-log.ts';
export { Listeners } from './listeners.ts';
export { type Logger, type LogOutput, makeLogger, standardOutput } from './logger.ts';
export { type Gauges, Metrics } from './metrics.ts';
