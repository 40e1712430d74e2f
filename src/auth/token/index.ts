export { isSignature, type SigningAlgorithm } from './algorithms.ts';
export { boundCertificate, dateClaim, refuseClaims, textClaim } from './claims.ts';
export { KeySetError, readKeySet, type VerificationKey } from './jwk.ts';
export {
  type Invalid,
  invalid,
  isJsonObject,
  type JsonObject,
  type Jwt,
  lacking,
  member,
  parseJwt,
  percentEncode,
  readBearer,
} from './jwt.ts';
