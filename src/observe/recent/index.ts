export { Recent, type RecentError } from './recent.ts';
export type { DecisionCounts } from './recent-decisions.ts';
export type { TopCaller } from './top-callers.ts';
