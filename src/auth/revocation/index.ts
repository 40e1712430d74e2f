export { type AnonymousRevocation, REVOCATION_KINDS } from './anonymous-revocation.ts';
export type { IssuerRevocations } from './issuer-revocations.ts';
export { NO_SUBJECT, type Revocable, revocableOf, sessionDigest } from './revocable.ts';
export type { RevocationFacts } from './revocation-facts.ts';
export { Revocations } from './revocations.ts';
