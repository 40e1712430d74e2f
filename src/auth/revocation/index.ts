export { type AnonymousRevocation, REVOCATION_KINDS } from './anonymous-revocation.ts';
export type { IssuerRevocations } from './issuer-revocations.ts';
export type { RevocationFacts } from './revocation-facts.ts';
export { NO_SUBJECT, type Revocable, revocableOf, sessionDigest } from './revocation-rules.ts';
export { Revocations } from './revocations.ts';
