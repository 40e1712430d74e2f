import { type Algorithm, isAlgorithm } from './algorithms.ts';
import { type Invalid, invalid } from './invalid.ts';
import { type JsonObject, member, parseJsonObject } from './json.ts';

/** A parsed token. Nothing in it can be trusted before its signature is checked. */
export interface Jwt {
  readonly kind: 'jwt';
  readonly algorithm: Algorithm;
  /** `kid`, or null. */
  readonly keyId: string | null;
  /** The header's `typ`, or null. */
  readonly type: string | null;
  readonly claims: JsonObject;
  /** The signed text: header and payload as received. */
  readonly signingInput: string;
  readonly signature: Buffer;
}

/** Longer ones are malformed. `readBearer` bounds the token as a whole. */
const MAX_KEY_ID_LENGTH = 256;

/**
 * Parses a compact JWS (RFC 7515, 7.1) strictly: every token has exactly one accepted spelling.
 *
 * Ignores the header parameters `jwk`, `jku`, `x5u` and `x5c`: a token must not choose the key to trust (RFC 8725, 3.10).
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
  // A dot is not base64url, so a fourth segment fails here.
  const signature = decodeBase64Url(token.slice(second + 1));
  if (claims === null || signature === null) return invalid('malformed');
  return { kind: 'jwt', algorithm, keyId, type, claims, signingInput: token.slice(0, second), signature };
}

function decodeObject(segment: string): JsonObject | null {
  const bytes = decodeBase64Url(segment);
  return bytes === null ? null : parseJsonObject(bytes);
}

/**
 * Decodes strictly. Node's decoder tolerates foreign characters, padding, the other alphabet and stray bits in the last
 * character; encoding the result again reveals any of these.
 */
function decodeBase64Url(segment: string): Buffer | null {
  if (segment === '') return null;
  const bytes = Buffer.from(segment, 'base64url');
  return bytes.toString('base64url') === segment ? bytes : null;
}

/** Null when absent, undefined when not a string. */
function optionalString(header: JsonObject, name: string): string | null | undefined {
  const value = member(header, name);
  if (value === undefined) return null;
  return typeof value === 'string' ? value : undefined;
}
