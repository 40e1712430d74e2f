import type { KeyObject } from 'node:crypto';
import { hasRocaFingerprint } from './roca.ts';
import { isOfSmallOrder } from './small-order.ts';

/** RFC 7518, 3.3. */
const MIN_RSA_BITS = 2_048;
/** OpenSSL does not verify with longer ones (OPENSSL_RSA_MAX_MODULUS_BITS). */
const MAX_RSA_BITS = 16_384;
/** The product of the primes up to 101. A modulus that shares a factor with it is trivial to factor. */
const SMALL_PRIMES = 232_862_364_358_497_360_900_063_316_880_507_363_070n;

/**
 * The flaw of this public key that lets others forge its signatures, in words that continue "the key has", or null.
 * A value that is not a key at all, such as a point off its curve, already fails to import.
 */
export function flawOf(key: KeyObject): string | null {
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return rsaFlaw(key);
    case 'ed25519':
      return edwardsFlaw(key, 'Ed25519');
    case 'ed448':
      return edwardsFlaw(key, 'Ed448');
    default:
      return null;
  }
}

function rsaFlaw(key: KeyObject): string | null {
  const { modulusLength: bits = 0, publicExponent: exponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (bits < MIN_RSA_BITS) return `a modulus of fewer than ${MIN_RSA_BITS} bits`;
  if (bits > MAX_RSA_BITS) return `a modulus of more than ${MAX_RSA_BITS} bits`;
  // With an exponent of 1 every message is its own signature; with an even one signing is impossible.
  if (exponent < 3n || exponent % 2n === 0n) return 'a public exponent that is below 3 or even';
  const modulus = BigInt(`0x${bytesOf(key, 'n').toString('hex')}`);
  if (greatestCommonDivisor(modulus, SMALL_PRIMES) !== 1n) return 'a modulus with a small factor';
  return hasRocaFingerprint(modulus) ? 'a modulus with the ROCA fingerprint (CVE-2017-15361)' : null;
}

function edwardsFlaw(key: KeyObject, curve: 'Ed25519' | 'Ed448'): string | null {
  return isOfSmallOrder(curve, bytesOf(key, 'x')) ? 'a point of small order' : null;
}

function bytesOf(key: KeyObject, member: 'n' | 'x'): Buffer {
  return Buffer.from(key.export({ format: 'jwk' })[member] ?? '', 'base64url');
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [large, small] = [a, b];
  while (small !== 0n) [large, small] = [small, large % small];
  return large;
}
