export * from './caller-claims.ts';
export { QUOTA_KEYS, quotaOf, quotaPaths, type WrittenQuotas, withShadowNumbers } from './compile-bucket.ts';
export {
  compileLimits,
  type KeptLimits,
  type KeptLines,
  keyingOf,
  readLines,
  type WrittenLines,
} from './compile-limits.ts';
export * from './limits-schema.ts';
export { namedClaims } from './named-claims.ts';
