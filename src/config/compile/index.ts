export { compileGateway } from './compile.ts';
export { QUOTA_KEYS, scopeOf, scopeReason, withTrials } from './compile-bucket.ts';
export { type CallerClaims, claimsOf, keyOfClaim, kindsOf, listedCaller } from './compile-identity.ts';
export { compileLimits } from './compile-limits.ts';
export { noticeRoutes, SIGN_IN_PREFIX, signInRoutes } from './own-routes.ts';
export {
  authenticationWithoutSecrets,
  limitsIn,
  type ReadLimits,
  readLimits,
  readLimitsAlone,
  readPseudonymKey,
  readSecrets,
  withoutSecrets,
} from './read/index.ts';
