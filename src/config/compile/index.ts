export { scopeOf, scopeReason } from './bucket-scope.ts';
export { type CallerClaims, claimsOf, keyOfClaim, kindsOf, listedCaller } from './caller-claims.ts';
export { compileGateway } from './compile.ts';
export { QUOTA_KEYS, withTrials } from './compile-bucket.ts';
export { compileLimits } from './compile-limits.ts';
export { noticeRoutes } from './notice-routes.ts';
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
export { SIGN_IN_PREFIX, signInRoutes } from './sign-in-routes.ts';
