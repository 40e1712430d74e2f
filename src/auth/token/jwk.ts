import { createPublicKey, type KeyObject } from 'node:crypto';
import type { FlawedKey } from '../../core/index.ts';
import { type Algorithm, algorithmsFor } from './algorithms.ts';
import { isJsonObject, type JsonObject, member, parseJsonObject } from './json.ts';
import { flawOf } from './key-flaws.ts';

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

/** The members that a public key consists of. A private part, should one be published, is not touched. */
const PUBLIC_MEMBERS = ['kty', 'crv', 'n', 'e', 'x', 'y'];

export interface ReadKeySet {
  /** Never empty. */
  readonly keys: readonly VerificationKey[];
  /** How many others there are. */
  readonly unusable: number;
  /** Those of the others that are for verifying signatures and must not. */
  readonly flawed: readonly FlawedKey[];
}

/** Longer names are cut where they are told. */
const MAX_TOLD = 100;

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
): ReadKeySet {
  const set = parseJsonObject(bytes);
  const entries = set === null ? undefined : member(set, 'keys');
  if (!Array.isArray(entries)) throw new KeySetError('the answer is not a JSON Web Key Set');
  if (entries.length > maxKeys) throw new KeySetError(`the key set has more than ${maxKeys} keys`);
  const keys: VerificationKey[] = [];
  const flawed: FlawedKey[] = [];
  for (const entry of entries) {
    const key = isJsonObject(entry) ? readKey(entry, known) : null;
    if (key === null) continue;
    if ('flaw' in key) flawed.push(key);
    else keys.push(key);
  }
  // An issuer that signs has a key; an empty set comes from something half started in its place.
  if (keys.length === 0)
    throw new KeySetError(`the key set has no key that can verify tokens${tell(flawed)}`);
  return { keys, unusable: entries.length - keys.length, flawed };
}

/** The first of them, for a message. */
function tell([first]: readonly FlawedKey[]): string {
  return first === undefined ? '' : `: the key ${JSON.stringify(first.keyId)} has ${first.flaw}`;
}

function readKey(jwk: JsonObject, known: readonly VerificationKey[]): VerificationKey | FlawedKey | null {
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
  const imported = importKey(jwk);
  if (typeof imported === 'string') return { keyId: id?.slice(0, MAX_TOLD) ?? null, flaw: imported };
  return { id, algorithms, keyObject: imported, fingerprint };
}

/** RFC 7517 sections 4.2 and 4.3: both members are optional. */
function isForSignatures(jwk: JsonObject): boolean {
  const use = member(jwk, 'use');
  const operations = member(jwk, 'key_ops');
  if (use !== undefined && use !== 'sig') return false;
  return operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
}

/** The key, or its flaw. */
function importKey(jwk: JsonObject): KeyObject | string {
  const members = PUBLIC_MEMBERS.map(name => [name, member(jwk, name)] as const);
  const key: Record<string, unknown> = Object.fromEntries(members.filter(([, value]) => value !== undefined));
  try {
    const keyObject = createPublicKey({ key, format: 'jwk' });
    return flawOf(keyObject) ?? keyObject;
  } catch {
    return 'members that make no key';
  }
}
