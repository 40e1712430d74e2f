export { HealthChecks, type HealthOptions } from './health-checks.ts';
