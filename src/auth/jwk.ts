import { createPublicKey, type KeyObject } from 'node:crypto';
import { type Algorithm, algorithmsFor } from './algorithms.ts';
import { isJsonObject, type JsonObject, member, parseJsonObject } from './json.ts';

/** One of the issuer's keys. The same key in two fetches is the same object. */
export interface VerificationKey {
  /** `kid`, or null. */
  readonly id: string | null;
  /** What it may verify: what its type can, narrowed by its `alg`. Never empty. */
  readonly algorithms: readonly Algorithm[];
  readonly keyObject: KeyObject;
  /** Everything that makes this key this key, as one string. */
  readonly fingerprint: string;
}

/** What came from the issuer is no key set that can be used. */
export class KeySetError extends Error {
  override readonly name = 'KeySetError';
}

/** RFC 7518 section 3.3. */
const MIN_RSA_BITS = 2_048;

/** The members that a public key consists of. A private part, should one be published, is not touched. */
const PUBLIC_MEMBERS = ['kty', 'crv', 'n', 'e', 'x', 'y'];

/**
 * The usable keys of a JWK set (RFC 7517 section 5). Keys for other uses or of other types are left out: section 5 asks
 * that what is not understood is ignored, and Keycloak lists an encryption key beside the others.
 *
 * @param known keys held already, which are reused
 * @throws KeySetError when this is no key set, has too many keys, or none that is usable
 */
export function readKeySet(
  bytes: Uint8Array,
  maxKeys: number,
  known: readonly VerificationKey[],
): { readonly keys: readonly VerificationKey[]; readonly unusable: number } {
  const set = parseJsonObject(bytes);
  const entries = set === null ? undefined : member(set, 'keys');
  if (!Array.isArray(entries)) throw new KeySetError('the answer is not a JSON Web Key Set');
  if (entries.length > maxKeys) throw new KeySetError(`the key set has more than ${maxKeys} keys`);
  const keys: VerificationKey[] = [];
  for (const entry of entries) {
    const key = isJsonObject(entry) ? readKey(entry, known) : null;
    if (key !== null) keys.push(key);
  }
  // An issuer that signs has a key; an empty set comes from something half started in its place.
  if (keys.length === 0) throw new KeySetError('the key set has no key that can verify tokens');
  return { keys, unusable: entries.length - keys.length };
}

function readKey(jwk: JsonObject, known: readonly VerificationKey[]): VerificationKey | null {
  const id = member(jwk, 'kid') ?? null;
  if (id !== null && typeof id !== 'string') return null;
  if (!isForSignatures(jwk)) return null;
  const declared = member(jwk, 'alg');
  const algorithms = algorithmsFor(member(jwk, 'kty'), member(jwk, 'crv')).filter(
    name => declared === undefined || declared === name,
  );
  if (algorithms.length === 0) return null;
  const members = PUBLIC_MEMBERS.map(name => member(jwk, name));
  const fingerprint = JSON.stringify([id, algorithms, members]);
  const same = known.find(key => key.fingerprint === fingerprint);
  if (same !== undefined) return same;
  const keyObject = importKey(jwk);
  return keyObject === null ? null : { id, algorithms, keyObject, fingerprint };
}

/** RFC 7517 sections 4.2 and 4.3: both members are optional. */
function isForSignatures(jwk: JsonObject): boolean {
  const use = member(jwk, 'use');
  const operations = member(jwk, 'key_ops');
  if (use !== undefined && use !== 'sig') return false;
  return operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
}

function importKey(jwk: JsonObject): KeyObject | null {
  const members = PUBLIC_MEMBERS.map(name => [name, member(jwk, name)] as const);
  const key: Record<string, unknown> = Object.fromEntries(members.filter(([, value]) => value !== undefined));
  try {
    const keyObject = createPublicKey({ key, format: 'jwk' });
    const bits = keyObject.asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS;
    return bits >= MIN_RSA_BITS ? keyObject : null;
  } catch {
    return null;
  }
}
