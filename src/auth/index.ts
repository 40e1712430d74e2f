export { OwnerChecks, VerificationBudget } from './budget.ts';
export {
  type Caller,
  type CallerKind,
  claimOf,
  classOf,
  fieldValueOf,
  isPrincipal,
  principalOf,
  shortfallOf,
  type Verdict,
} from './caller.ts';
export { IssuerVerifiers } from './issuer-verifiers.ts';
export { KeySet, type KeySetFetcher } from './key-set.ts';
export { MAX_NOTICE_BYTES } from './notice-token.ts';
export {
  type NoticeIssuer,
  type NoticeRequest,
  type NoticeResponse,
  Notices,
  type NoticesDependencies,
  SeenNotices,
} from './notices.ts';
export {
  type AccessTokenOptions,
  BUDGET_LIMITS,
  type BudgetOptions,
  CACHE_LIMITS,
  type CacheOptions,
  type ClaimRule,
  type ClassRule,
  KEY_SET_LIMITS,
  type KeySetOptions,
  NOTICE_BUDGET,
  REVOCATION_LIMITS,
  type Requirement,
  type Role,
} from './options.ts';
export type { Shortfall } from './requirement.ts';
export {
  type AnonymousRevocation,
  NO_SUBJECT,
  REVOCATION_KINDS,
  type RevocationFacts,
} from './revocation-rules.ts';
export { type IssuerRevocations, Revocations } from './revocations.ts';
export { type Invalid, invalid, percentEncode, readBearer } from './token/index.ts';
export { type TokenVerifier, Verifier } from './verifier.ts';
