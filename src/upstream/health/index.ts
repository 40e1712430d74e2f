export type { CheckTarget } from './check-request.ts';
export { type CheckedEndpoint, HealthChecks, type HealthOptions } from './health-checks.ts';
