export type { IssuerRevocations } from './issuer-revocations.ts';
export {
  type AnonymousRevocation,
  NO_SUBJECT,
  REVOCATION_KINDS,
  type Revocable,
  type RevocationFacts,
  revocableOf,
  sessionDigest,
} from './revocation-rules.ts';
export { Revocations } from './revocations.ts';
