export { type Access, AdminAccess, type AdminAccessDependencies } from './admin-access.ts';
export type { AdminRequest } from './foreign-page.ts';
