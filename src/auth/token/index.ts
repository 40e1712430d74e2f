export { type Algorithm, isSignature } from './algorithms.ts';
export { readBearer } from './bearer.ts';
export { dateClaim, refuseClaims, textClaim } from './claims.ts';
export { type Invalid, invalid, lacking } from './invalid.ts';
export { isJsonObject, type JsonObject, member } from './json.ts';
export { KeySetError, readKeySet, type VerificationKey } from './jwk.ts';
export { type Jwt, parseJwt } from './jwt.ts';
export { percentEncode } from './percent.ts';
