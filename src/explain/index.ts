export { EXPLAINED_METHODS, explain, isExplained } from './explain.ts';
export type { ActiveRestrictions } from './explain-restrictions.ts';
export { type AskedCaller, asShape, type ExplainedRow } from './explanation.ts';
