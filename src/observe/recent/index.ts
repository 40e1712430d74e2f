export { Recent } from './recent.ts';
export type { DecisionCounts } from './recent-decisions.ts';
export type { RecentError } from './recent-errors.ts';
export type { TopCaller } from './top-callers.ts';
