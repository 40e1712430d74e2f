export { algorithmsFor, isSignature, type SigningAlgorithm } from './algorithms.ts';
export {
  boundCertificate,
  boundKey,
  dateClaim,
  holdsOne,
  isMarked,
  isScalar,
  refuseClaims,
  tenantOf,
  textClaim,
} from './claims.ts';
export { importKey, KeySetError, readKeySet, signerOf, type VerificationKey } from './jwk.ts';
export * from './jwt.ts';
