export { AdminListener } from './admin-listener.ts';
export { gatherStatus } from './gather-status.ts';
