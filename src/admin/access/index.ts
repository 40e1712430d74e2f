export {
  type Access,
  AdminAccess,
  type AdminAccessDependencies,
  type AdminRequest,
  peerOf,
} from './admin-access.ts';
