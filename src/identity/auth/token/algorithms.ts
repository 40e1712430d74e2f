import { constants, type KeyObject, type SigningOptions, verify } from 'node:crypto';
import type { SignatureAlgorithm } from '../../../core/index.ts';

/**
 * The accepted signature algorithms, asymmetric ones only (RFC 7518, 3.1; RFC 8037; RFC 9864). If HS256 were accepted,
 * anyone could sign with the public key as the secret (RFC 8725, 2.1).
 */
export type SigningAlgorithm = keyof typeof ALGORITHMS;

interface Scheme {
  /** The digest to sign; `null` if the signature scheme has its own. */
  readonly digest: string | null;
  readonly keyType: 'RSA' | 'EC' | 'OKP';
  /** The curves of its keys (JWK `crv`); empty for RSA. */
  readonly curves: readonly string[];
  /** What `verify` needs in addition to the key, or `null`. */
  readonly parameters: SigningOptions | null;
}

const pkcs1 = (digest: string): Scheme => ({ digest, keyType: 'RSA', curves: [], parameters: null });

/** Requires a salt as long as the digest (RFC 7518, 3.5). */
const pss = (digest: string): Scheme => ({
  digest,
  keyType: 'RSA',
  curves: [],
  parameters: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
});

/** JWS concatenates r and s (RFC 7518, 3.4) instead of using DER. */
const ecdsa = (digest: string, curve: string): Scheme => ({
  digest,
  keyType: 'EC',
  curves: [curve],
  parameters: { dsaEncoding: 'ieee-p1363' },
});

const eddsa = (...curves: string[]): Scheme => ({ digest: null, keyType: 'OKP', curves, parameters: null });

const ALGORITHMS = {
  RS256: pkcs1('sha256'),
  RS384: pkcs1('sha384'),
  RS512: pkcs1('sha512'),
  PS256: pss('sha256'),
  PS384: pss('sha384'),
  PS512: pss('sha512'),
  ES256: ecdsa('sha256', 'P-256'),
  ES384: ecdsa('sha384', 'P-384'),
  ES512: ecdsa('sha512', 'P-521'),
  EdDSA: eddsa('Ed25519', 'Ed448'),
  Ed25519: eddsa('Ed25519'),
  Ed448: eddsa('Ed448'),
} satisfies Readonly<Record<SignatureAlgorithm, Scheme>>;

/** Whether this is the name of an accepted algorithm; names are case-sensitive (RFC 7515, 4.1.1). */
export function isAlgorithm(name: unknown): name is SigningAlgorithm {
  return typeof name === 'string' && Object.hasOwn(ALGORITHMS, name);
}

/** The algorithms that a key of this type and curve can verify; may be empty. */
export function algorithmsFor(keyType: unknown, curve: unknown): readonly SigningAlgorithm[] {
  return Object.keys(ALGORITHMS)
    .filter(isAlgorithm)
    .filter(name => {
      const scheme: Scheme = ALGORITHMS[name];
      return scheme.keyType === keyType && (keyType === 'RSA' || scheme.curves.some(each => each === curve));
    });
}

/**
 * Whether the key made the signature. Synchronous on purpose: for RSA the check (20 us) costs less than a trip through the
 * thread pool, and for the others no more.
 */
export function isSignature(
  algorithm: SigningAlgorithm,
  key: KeyObject,
  data: Buffer,
  signature: Buffer,
): boolean {
  const { digest, parameters } = ALGORITHMS[algorithm];
  // OpenSSL also accepts a PS256 signature without its leading zero, unlike RFC 8017, 8.1.2: one token would have two spellings.
  const { modulusLength } = key.asymmetricKeyDetails ?? {};
  if (modulusLength !== undefined && signature.length !== Math.ceil(modulusLength / 8)) return false;
  try {
    // Wrapping the key in an object costs 12 us (Node 24.21), so RS256 and EdDSA pass it bare.
    return verify(digest, data, parameters === null ? key : { key, ...parameters }, signature);
  } catch {
    // OpenSSL throws when key and algorithm do not fit.
    return false;
  }
}
