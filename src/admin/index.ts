export { AdminListener, type AdminView } from './admin-listener.ts';
