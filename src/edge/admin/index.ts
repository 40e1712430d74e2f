export { AdminListener, type AdminView } from './admin-listener.ts';
export { gatherStatus } from './gather-status.ts';
