export { AdminListener, type AdminView } from './admin-listener.ts';
export { certificatesOf, gatherStatus } from './gather-status.ts';
