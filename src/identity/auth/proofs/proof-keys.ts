import { hash, type KeyObject } from 'node:crypto';
import { RecentMap } from '../../../core/index.ts';
import { importKey, type JsonObject, member } from '../token/index.ts';

/** Maximum keys of clients that are kept. Each takes about 1.5 KiB. */
const MAX_KEYS = 5_000;

/** Larger keys would only make signature checks slower: 0.6 ms with 16,384 bits. */
const MAX_RSA_BITS = 4_096;
const MAX_RSA_EXPONENT = 2n ** 33n;

/** The members of a public key that its thumbprint covers, in the order of the RFC (RFC 7638, 3.2; RFC 8037, 2). */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
};

/** The thumbprint of a public key (RFC 7638, SHA-256, base64url); `null` if members of a public key are missing. */
export function thumbprintOf(jwk: JsonObject): string | null {
  const type = member(jwk, 'kty');
  const names = typeof type === 'string' && Object.hasOwn(MEMBERS, type) ? (MEMBERS[type] ?? []) : [];
  const members = names.map(name => [name, member(jwk, name)] as const);
  if (members.length === 0 || !members.every(([, value]) => typeof value === 'string')) return null;
  return hash('sha256', JSON.stringify(Object.fromEntries(members)), 'base64url');
}

/** The keys of clients. Only keys that a valid token is bound to are imported, so a flood of made-up keys costs nothing. */
export class ProofKeys {
  /** Keys by thumbprint; `null` for a key that cannot or must not verify a proof. */
  readonly #keys: RecentMap<KeyObject | null>;

  constructor(maxKeys = MAX_KEYS) {
    this.#keys = new RecentMap(maxKeys);
  }

  get size(): number {
    return this.#keys.size;
  }

  /** @param thumbprint the thumbprint of `jwk` */
  of(thumbprint: string, jwk: JsonObject): KeyObject | null {
    const known = this.#keys.get(thumbprint);
    if (known !== undefined) return known;
    const imported = importKey(jwk);
    const key = typeof imported === 'string' || isCostly(imported) ? null : imported;
    this.#keys.set(thumbprint, key);
    return key;
  }
}

function isCostly(key: KeyObject): boolean {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  return modulusLength > MAX_RSA_BITS || publicExponent > MAX_RSA_EXPONENT;
}
