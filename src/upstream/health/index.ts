export { type CheckState, HealthChecks, type HealthOptions } from './health-checks.ts';
