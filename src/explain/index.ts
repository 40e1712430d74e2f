export { EXPLAINED_METHODS, explain } from './explain.ts';
export type { ActiveRestrictions } from './explain-restrictions.ts';
export { type AskedCaller, asShape, type ExplainedRow } from './explanation.ts';
