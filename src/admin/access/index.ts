export { type Access, AdminAccess, type AdminAccessDependencies, peerOf } from './admin-access.ts';
export type { AdminRequest } from './foreign-page.ts';
