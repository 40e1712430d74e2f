import { type Algorithm, isAlgorithm } from './algorithms.ts';
import { type Invalid, invalid } from './invalid.ts';
import { type JsonObject, member, parseJsonObject } from './json.ts';

/** A token taken apart. Nothing in it is proved before its signature was checked. */
export interface Jwt {
  readonly kind: 'jwt';
  readonly algorithm: Algorithm;
  /** Names the key that signed it; null: the token does not say. */
  readonly keyId: string | null;
  /** The header's `typ`, or null. */
  readonly type: string | null;
  readonly claims: JsonObject;
  /** What was signed: header and payload as they came. */
  readonly signingInput: string;
  readonly signature: Buffer;
}

/** No longer ones are looked up; the token as a whole is bounded by `readBearer`. */
const MAX_KEY_ID_LENGTH = 256;

/**
 * Reads a compact JWS (RFC 7515 section 7.1), strictly: every token has exactly one spelling that is accepted.
 *
 * The header parameters `jwk`, `jku`, `x5u` and `x5c` are not looked at: a token must not say which key to trust
 * (RFC 8725 section 3.10).
 */
export function parseJwt(token: string): Jwt | Invalid {
  const first = token.indexOf('.');
  const second = token.indexOf('.', first + 1);
  if (first === -1 || second === -1) return invalid('malformed');

  const header = decodeObject(token.slice(0, first));
  if (header === null) return invalid('malformed');
  if (Object.hasOwn(header, 'crit')) return invalid('critical');
  const algorithm = member(header, 'alg');
  if (!isAlgorithm(algorithm)) return invalid(typeof algorithm === 'string' ? 'algorithm' : 'malformed');
  const keyId = optionalString(header, 'kid');
  const type = optionalString(header, 'typ');
  if (keyId === undefined || type === undefined) return invalid('malformed');
  if (keyId !== null && (keyId === '' || keyId.length > MAX_KEY_ID_LENGTH)) return invalid('malformed');

  const claims = decodeObject(token.slice(first + 1, second));
  // A third dot is no base64url, so a fourth segment fails here.
  const signature = decodeBase64Url(token.slice(second + 1));
  if (claims === null || signature === null) return invalid('malformed');
  return { kind: 'jwt', algorithm, keyId, type, claims, signingInput: token.slice(0, second), signature };
}

function decodeObject(segment: string): JsonObject | null {
  const bytes = decodeBase64Url(segment);
  return bytes === null ? null : parseJsonObject(bytes);
}

/**
 * Node's decoder skips what is not base64url and takes padding, the other alphabet and stray bits in the last character.
 * Encoding the result again shows whether any of that happened.
 */
function decodeBase64Url(segment: string): Buffer | null {
  if (segment === '') return null;
  const bytes = Buffer.from(segment, 'base64url');
  return bytes.toString('base64url') === segment ? bytes : null;
}

/** Null when it is not there, undefined when it is something else than a string. */
function optionalString(header: JsonObject, name: string): string | null | undefined {
  const value = member(header, name);
  if (value === undefined) return null;
  return typeof value === 'string' ? value : undefined;
}
