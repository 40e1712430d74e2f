import { createPublicKey, type KeyObject } from 'node:crypto';
import type { FlawedKey } from '../../../core/index.ts';
import { algorithmsFor, isSignature, type SigningAlgorithm } from './algorithms.ts';
import {
  given,
  isJsonObject,
  type JsonObject,
  type Jwt,
  member,
  parseJsonObject,
  THUMBPRINTS,
} from './jwt.ts';
import { keyFlaw } from './key-flaws.ts';

/** One of the issuer's keys. The same key in two fetches is the same object. */
export interface VerificationKey {
  /** `kid`, or null. */
  readonly id: string | null;
  /** The issuer whose tokens the key signs, possibly with a placeholder (Entra ID); `null` if the set does not say. */
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

/** The members of a public key. Private members, if published by mistake, are never read. */
const PUBLIC_MEMBERS = ['kty', 'crv', 'n', 'e', 'x', 'y'];

export interface ReadKeySet {
  /** Never empty. */
  readonly keys: readonly VerificationKey[];
  /** The number of other keys in the set. */
  readonly unusable: number;
  /** Unusable keys that are not for encryption. */
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

/** The first of these keys that made the signature; `undefined` if none did. */
export function signerOf(
  { algorithm, signingInput, signature }: Pick<Jwt, 'algorithm' | 'signingInput' | 'signature'>,
  keys: readonly VerificationKey[],
): VerificationKey | undefined {
  const signed = Buffer.from(signingInput, 'latin1');
  return keys.find(({ keyObject }) => isSignature(algorithm, keyObject, signed, signature));
}

/** The first flaw, formatted for a message. */
function shown([first]: readonly FlawedKey[]): string {
  return first === undefined ? '' : `: the key ${JSON.stringify(first.keyId)} has ${first.flaw}`;
}

function readKey(jwk: JsonObject, known: readonly VerificationKey[]): VerificationKey | FlawedKey | null {
  if (isForEncryption(jwk)) return null;
  const id = member(jwk, 'kid') ?? null;
  if (id !== null && typeof id !== 'string') return { keyId: null, flaw: 'a kid that is not text' };
  const flawedBy = (flaw: string) => ({ keyId: id?.slice(0, MAX_SHOWN) ?? null, flaw });
  const use = given(jwk, 'use');
  if (use !== undefined && use !== 'sig') return flawedBy(`a use that is not "sig": ${quoted(use)}`);
  const operations = given(jwk, 'key_ops');
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify')))
    return flawedBy(`key_ops without "verify": ${quoted(operations)}`);
  const algorithms = algorithmsOf(jwk);
  if (algorithms.length === 0) {
    const [type, curve, alg] = ['kty', 'crv', 'alg'].map(name => quoted(member(jwk, name)));
    return flawedBy(`a type or algorithm that is not supported: kty ${type}, crv ${curve}, alg ${alg}`);
  }
  const members = PUBLIC_MEMBERS.map(name => member(jwk, name));
  const thumbprints = THUMBPRINTS.map(name => member(jwk, name)).filter(each => typeof each === 'string');
  const issuer = issuerIn(jwk);
  const fingerprint = JSON.stringify([id, issuer, thumbprints, algorithms, members]);
  const same = known.find(key => key.fingerprint === fingerprint);
  if (same !== undefined) return same;
  const imported = importKey(jwk);
  if (typeof imported === 'string') return flawedBy(imported);
  return { id, issuer, thumbprints, algorithms, keyObject: imported, fingerprint };
}

/** A value from the issuer, for a message. */
function quoted(value: unknown): string {
  return (JSON.stringify(value) ?? 'none').slice(0, 40);
}

/** The algorithms that a key can verify, and that its `alg` allows. May be empty. */
function algorithmsOf(jwk: JsonObject): readonly SigningAlgorithm[] {
  const declared = given(jwk, 'alg');
  const fitting = algorithmsFor(member(jwk, 'kty'), member(jwk, 'crv'));
  const allowed = fitting.filter(name => declared === undefined || declared === name);
  // EdDSA and the name of its curve are one algorithm (RFC 9864, 2.2): tokens may have either.
  return allowed.length > 0 && member(jwk, 'kty') === 'OKP' ? fitting : allowed;
}

/**
 * Whether the key declares itself to be for something other than tokens (RFC 7517, 4.2 and 4.3; RFC 7518, 4.1 and 6.4; RFC 8037,
 * 3.2).
 */
function isForEncryption(jwk: JsonObject): boolean {
  const [use, type, curve, alg, operations] = ['use', 'kty', 'crv', 'alg', 'key_ops'].map(name =>
    given(jwk, name),
  );
  if (use === 'enc' || type === 'oct' || curve === 'X25519' || curve === 'X448') return true;
  if (Array.isArray(operations) && !operations.includes('sign') && !operations.includes('verify'))
    return true;
  return typeof alg === 'string' && /^(?:RSA-OAEP|RSA1_5|ECDH-ES|PBES2|A\d{3}|dir$)/.test(alg);
}

/** The issuer that a key names; `null` for none. Returns '', which is never an issuer's name, for a value that is not text. */
function issuerIn(jwk: JsonObject): string | null {
  const issuer = member(jwk, 'issuer') ?? null;
  return issuer === null || typeof issuer === 'string' ? issuer : '';
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
