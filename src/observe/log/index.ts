export { FaultLog } from './access-log.ts';
export { ConnectionLog } from './connection-log.ts';
export { IdentityLog } from './identity-log.ts';
export { LimitLog } from './limit-log.ts';
export { standardOutput } from './log-output.ts';
export { type Logger, makeLogger } from './logger.ts';
export { Logging, type LoggingOptions } from './logging.ts';
export { ReloadLog } from './reload-log.ts';
export { StoreLog } from './store-log.ts';
