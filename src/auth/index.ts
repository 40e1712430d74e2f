export type { Algorithm } from './algorithms.ts';
export { readBearer } from './bearer.ts';
export { type CheckBudget, VerificationBudget } from './budget.ts';
export type { Caller } from './caller.ts';
export { type Invalid, type InvalidReason, invalid } from './invalid.ts';
export { KeySet, type KeySetDependencies, type KeySetFetcher } from './key-set.ts';
export { type AnonymousMark, NotBeforeMarks } from './marks.ts';
export {
  type AccessTokenOptions,
  type BotRule,
  BUDGET_DEFAULTS,
  type BudgetOptions,
  CACHE_DEFAULTS,
  type CacheOptions,
  type IdentityHeader,
  KEY_SET_DEFAULTS,
  type KeySetOptions,
  MARK_DEFAULTS,
  type MarkOptions,
} from './options.ts';
export type { Spent, Unavailable, Verdict } from './verdict.ts';
export { Verifier, type VerifierDependencies } from './verifier.ts';
