export { compileGateway } from './compile.ts';
export { compileLimits, QUOTA_KEYS } from './compile-limits.ts';
export {
  readAdminToken,
  readLimits,
  readLimitsAlone,
  readListenerTls,
  readProvider,
  readPseudonymKey,
  readStore,
  readUpstreamTls,
} from './read/index.ts';
export { SIGN_IN_ROUTES } from './sign-in-routes.ts';
