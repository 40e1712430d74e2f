export {
  type CheckState,
  type Checks,
  HealthChecks,
  type HealthOptions,
} from './health-checks.ts';
export { LearntChecks } from './learnt-checks.ts';
