export type { RouteTimeouts } from './policy.ts';
export {
  checkPolicies,
  comparePolicies,
  compilePolicies,
  describePolicies,
  PATH_ONLY,
  type PolicyModels,
  policyKeys,
} from './route-policies.ts';
export { overridableTimeouts } from './timeouts.ts';
