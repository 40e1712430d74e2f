export { isSignature, type SigningAlgorithm } from './algorithms.ts';
export { boundCertificate, dateClaim, refuseClaims, tenantOf, textClaim } from './claims.ts';
export { KeySetError, readKeySet, type VerificationKey } from './jwk.ts';
export * from './jwt.ts';
