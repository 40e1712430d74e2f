export { FaultLog, type PathNaming, pseudonymOf } from './access-log.ts';
export { adminLog } from './admin-log.ts';
export { connectionLog, listenerFaults } from './connection-log.ts';
export { identityLog, noticeLog } from './identity-log.ts';
export * from './logging.ts';
export { OncePerInterval } from './once-per-interval.ts';
export { standardOutput } from './standard-output.ts';
export { limitLog, overloadLog, reloadLog, storeLog } from './store-log.ts';
export { upstreamLog } from './upstream-log.ts';
