export * from './api-keys.ts';
export * from './budget.ts';
export * from './caller.ts';
export { IssuerVerifiers } from './issuer-verifiers.ts';
export { type FetchedKeySet, KeySet, type KeySetFetcher } from './key-set.ts';
export { MAX_NOTICE_BYTES } from './notice-token.ts';
export * from './notices.ts';
export { EitherVerifier, OpaqueVerifier } from './opaque-verifier.ts';
export * from './options.ts';
export * from './proofs/index.ts';
export type { Shortfall } from './requirement.ts';
export {
  type AnonymousRevocation,
  NO_SUBJECT,
  REVOCATION_KINDS,
  type RevocationFacts,
} from './revocation-rules.ts';
export { type IssuerRevocations, Revocations } from './revocations.ts';
export { type Invalid, invalid, isOpaque, percentEncode, readBearer } from './token/index.ts';
export { type LastingVerifier, type TokenVerifier, Verifier } from './verifier.ts';
