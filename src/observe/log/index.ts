export { FaultLog, type PathNaming, pseudonymOf } from './access-log.ts';
export { AdminLog } from './admin-log.ts';
export { ConnectionLog, ListenerFaults } from './connection-log.ts';
export { IdentityLog, NoticeLog } from './identity-log.ts';
export * from './logging.ts';
export { OncePerMinute } from './once-per-minute.ts';
export { standardOutput } from './standard-output.ts';
export { LimitLog, OverloadLog, ReloadLog, StoreLog } from './store-log.ts';
export { UpstreamLog } from './upstream-log.ts';
