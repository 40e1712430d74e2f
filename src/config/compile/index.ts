export { compileGateway, type Sources } from './compile.ts';
export { QUOTA_KEYS, quotaOf, quotaPaths, type WrittenQuotas, withShadowNumbers } from './compile-bucket.ts';
export {
  type CallerClaims,
  claimsByKind,
  claimsOf,
  KEY_CALLERS,
  keyOfClaim,
  kindsOf,
  listedCaller,
  withTenants,
} from './compile-identity.ts';
export { compileLimits, keyingOf } from './compile-limits.ts';
export { noticeRoutes, patternsOfRoute, SIGN_IN_PREFIX, signInRoutes } from './compile-routes.ts';
export { ENOUGH_FOR_A_PAGE, hintsAtDefaultLimits } from './default-limits.ts';
export { capFindings, writtenCaps } from './memory-use.ts';
export { metadataRoutes } from './protected-resource.ts';
export { readApiKeys } from './read-api-keys.ts';
export * from './read-limits.ts';
