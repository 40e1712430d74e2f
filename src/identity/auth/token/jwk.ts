import { createPublicKey, type KeyObject } from 'node:crypto';
import type { FlawedKey } from '../../../core/index.ts';
import { algorithmsFor, type SigningAlgorithm } from './algorithms.ts';
import { given, isJsonObject, type JsonObject, member, parseJsonObject, THUMBPRINTS } from './jwt.ts';
import { keyFlaw } from './key-flaws.ts';

/** One of the issuer's keys. The same key in two fetches is the same object. */
export interface VerificationKey {
  /** `kid`, or null. */
  readonly id: string | null;
  /** The issuer whose tokens it signs, if the set says so, perhaps with a placeholder (Entra ID); else `null`. */
  readonly issuer: string | null;
  /** The thumbprints of its certificate, by which a token may name it: `x5t#S256`, `x5t`. */
  readonly thumbprints: readonly string[];
  /** The algorithms that fit its type and its `alg`. Never empty. */
  readonly algorithms: readonly SigningAlgorithm[];
  readonly keyObject: KeyObject;
  /** Identifies the key: all of its public members as one string. */
  readonly fingerprint: string;
}

/** Thrown if the issuer's response is not a usable key set. */
export class KeySetError extends Error {
  override readonly name = 'KeySetError';
}

/** The members of a public key. A private part, should one be published, is never read. */
const PUBLIC_MEMBERS = ['kty', 'crv', 'n', 'e', 'x', 'y'];

export interface ReadKeySet {
  /** Never empty. */
  readonly keys: readonly VerificationKey[];
  /** The number of other keys in the set. */
  readonly unusable: number;
  /** Unusable keys that are intended for signatures but are too weak. */
  readonly flawed: readonly FlawedKey[];
}

/** The longest part of a key id that messages show. */
const MAX_SHOWN = 100;

/**
 * The usable keys of a JWK set. Ignores keys for other uses or of other types, as RFC 7517, 5 asks: Keycloak lists an
 * encryption key among the others.
 *
 * @param known keys already imported, which are reused
 * @throws KeySetError when this is not a key set, has too many keys, or no usable one
 */
export function readKeySet(
  bytes: Uint8Array,
  maxKeys: number,
  known: readonly VerificationKey[],
): ReadKeySet {
  const set = parseJsonObject(withoutMark(bytes));
  const entries = set === null ? undefined : member(set, 'keys');
  if (!Array.isArray(entries)) throw new KeySetError('the response is not a JSON Web Key Set');
  if (entries.length > maxKeys) throw new KeySetError(`the key set has more than ${maxKeys} keys`);
  const keys: VerificationKey[] = [];
  const flawed: FlawedKey[] = [];
  for (const entry of entries) {
    const key = isJsonObject(entry) ? readKey(entry, known) : null;
    if (key === null) continue;
    if ('flaw' in key) flawed.push(key);
    else keys.push(key);
  }
  // An issuer that signs has a key; an empty set comes from one that has not fully started.
  if (keys.length === 0)
    throw new KeySetError(`the key set has no key that can verify tokens${shown(flawed)}`);
  return { keys, unusable: entries.length - keys.length, flawed };
}

/** Drops the byte-order mark of UTF-8, which some servers put before their files; a parser may ignore it (RFC 8259, 8.1). */
function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/** The first flaw, formatted for a message. */
function shown([first]: readonly FlawedKey[]): string {
  return first === undefined ? '' : `: the key ${JSON.stringify(first.keyId)} has ${first.flaw}`;
}

function readKey(jwk: JsonObject, known: readonly VerificationKey[]): VerificationKey | FlawedKey | null {
  const id = member(jwk, 'kid') ?? null;
  if (id !== null && typeof id !== 'string') return null;
  if (!isForSignatures(jwk)) return null;
  const declared = given(jwk, 'alg');
  const algorithms = algorithmsFor(member(jwk, 'kty'), member(jwk, 'crv')).filter(
    name => declared === undefined || declared === name,
  );
  if (algorithms.length === 0) return null;
  const members = PUBLIC_MEMBERS.map(name => member(jwk, name));
  const thumbprints = THUMBPRINTS.map(name => member(jwk, name)).filter(each => typeof each === 'string');
  const issuer = issuerIn(jwk);
  const fingerprint = JSON.stringify([id, issuer, thumbprints, algorithms, members]);
  const same = known.find(key => key.fingerprint === fingerprint);
  if (same !== undefined) return same;
  const imported = importKey(jwk);
  if (typeof imported === 'string') return { keyId: id?.slice(0, MAX_SHOWN) ?? null, flaw: imported };
  return { id, issuer, thumbprints, algorithms, keyObject: imported, fingerprint };
}

/** The issuer that a key names; `null` for none. Returns '', which no issuer is called, for a value that is not text. */
function issuerIn(jwk: JsonObject): string | null {
  const issuer = member(jwk, 'issuer') ?? null;
  return issuer === null || typeof issuer === 'string' ? issuer : '';
}

/** Whether `use` and `key_ops` allow signatures. Both are optional (RFC 7517, 4.2 and 4.3). */
function isForSignatures(jwk: JsonObject): boolean {
  const use = given(jwk, 'use');
  const operations = given(jwk, 'key_ops');
  if (use !== undefined && use !== 'sig') return false;
  return operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
}

/** Returns the key, or its flaw. */
export function importKey(jwk: JsonObject): KeyObject | string {
  const members = PUBLIC_MEMBERS.map(name => [name, member(jwk, name)] as const);
  const key: Record<string, unknown> = Object.fromEntries(members.filter(([, value]) => value !== undefined));
  try {
    const keyObject = createPublicKey({ key, format: 'jwk' });
    return keyFlaw(keyObject) ?? keyObject;
  } catch {
    return 'members that do not form a key';
  }
}
