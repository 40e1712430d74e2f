export * from './answers.ts';
export { MIN_BODY_RATE } from './body.ts';
export * from './bucket-settings.ts';
export { claimFieldsIn, claimsIn } from './header-fields.ts';
export type { RouteTimeouts } from './policy.ts';
export { Requirements } from './requirements.ts';
export * from './route-policies.ts';
export * from './shares.ts';
export * from './upstream-settings.ts';
