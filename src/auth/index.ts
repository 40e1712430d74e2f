export { VerificationBudget } from './budget.ts';
export { type Caller, type CallerKind, isPrincipal, principalOf } from './caller.ts';
export { KeySet, type KeySetFetcher } from './key-set.ts';
export { type AnonymousMark, NotBeforeMarks } from './marks.ts';
export {
  type AccessTokenOptions,
  BUDGET_LIMITS,
  type BudgetOptions,
  CACHE_LIMITS,
  type CacheOptions,
  KEY_SET_LIMITS,
  type KeySetOptions,
  MARK_LIMITS,
} from './options.ts';
export { type Invalid, invalid, readBearer } from './token/index.ts';
export type { Verdict } from './verdict.ts';
export { Verifier } from './verifier.ts';
