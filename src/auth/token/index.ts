export { isSignature, type SigningAlgorithm } from './algorithms.ts';
export { dateClaim, refuseClaims, textClaim } from './claims.ts';
export { type Invalid, invalid, lacking } from './invalid.ts';
export { KeySetError, readKeySet, type VerificationKey } from './jwk.ts';
export {
  isJsonObject,
  type JsonObject,
  type Jwt,
  member,
  parseJwt,
  percentEncode,
  readBearer,
} from './jwt.ts';
