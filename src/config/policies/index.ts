export type { RouteTimeouts } from './policy.ts';
export * from './route-policies.ts';
export { overridableTimeouts } from './timeouts.ts';
