export { AdminListener, type AdminView } from './admin-listener.ts';
export { gatherStatus, type StatusSources } from './gather-status.ts';
export type { GatewayStatus } from './status.ts';
