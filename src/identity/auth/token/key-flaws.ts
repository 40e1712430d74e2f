import type { KeyObject } from 'node:crypto';

/** The minimum of RFC 7518, 3.3. */
const MIN_RSA_BITS = 2_048;
/** OpenSSL does not verify with longer keys (OPENSSL_RSA_MAX_MODULUS_BITS). */
const MAX_RSA_BITS = 16_384;
/** The product of the primes up to 101. A modulus that shares a factor with it is trivial to factor. */
const SMALL_PRIMES = 232_862_364_358_497_360_900_063_316_880_507_363_070n;

/**
 * The flaw of this public key that allows signatures to be forged, in words that follow "the key has", or null. A value that is
 * not a key at all, such as a point off its curve, already fails to import.
 */
export function keyFlaw(key: KeyObject): string | null {
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

/**
 * The odd primes up to 167. The faulty generator uses the product of these and more for every key length, so one test
 * serves all lengths.
 */
const PRIMES = [
  ...[3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97],
  ...[101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167],
];

const GENERATOR = 65_537;

/** The powers of the generator modulo one of the primes. */
interface Subgroup {
  readonly prime: bigint;
  readonly order: number;
  /** Maps each power to its exponent. */
  readonly logs: ReadonlyMap<number, number>;
}

/** An exponent modulo the order of one subgroup: all that one prime reveals about it. */
interface Residue {
  readonly log: number;
  readonly order: number;
}

const SUBGROUPS = PRIMES.map(subgroupOf);

/**
 * Whether an RSA modulus came from the faulty generator in Infineon's chips (ROCA, CVE-2017-15361) and can be factored. Its
 * primes have the form k * M + (65537^a mod M) with M a product of small primes, so the modulus is a power of 65537 modulo each
 * of these, with one common exponent (Nemec et al., "The Return of Coppersmith's Attack", 3). A good modulus is mistaken for a
 * faulty one with a probability of 2^-154; without checking for the common exponent it would be 2^-28.
 */
export function hasRocaFingerprint(modulus: bigint): boolean {
  const residues: Residue[] = [];
  for (const { prime, order, logs } of SUBGROUPS) {
    const log = logs.get(Number(modulus % prime));
    if (log === undefined) return false;
    residues.push({ log, order });
  }
  return residues.every((one, i) => residues.slice(i + 1).every(other => agree(one, other)));
}

/** Whether some exponent has both residues. If all pairs agree, one has them all (Chinese remainder theorem). */
function agree(one: Residue, other: Residue): boolean {
  return (one.log - other.log) % commonDivisor(one.order, other.order) === 0;
}

function subgroupOf(prime: number): Subgroup {
  const logs = new Map<number, number>();
  for (let power = 1; !logs.has(power); power = (power * GENERATOR) % prime) logs.set(power, logs.size);
  return { prime: BigInt(prime), order: logs.size, logs };
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/** The prime of Ed25519, whose curve is -x^2 + y^2 = 1 + d x^2 y^2 with d = -121665/121666 (RFC 8032, 5.1). */
const P_25519 = 2n ** 255n - 19n;
/** The prime of Ed448 (RFC 8032, 5.2). */
const P_448 = 2n ** 448n - 2n ** 224n - 1n;

/**
 * Whether this EdDSA public key is a point whose order divides the cofactor. Such a key accepts a trivial signature over
 * every message, or over one in eight. Node rejects it since nodejs/node#64026, which early releases of Node 26 lack.
 *
 * @param encoded the point as RFC 8032 encodes it; a non-canonical encoding of y counts as the same y
 */
export function isOfSmallOrder(curve: 'Ed25519' | 'Ed448', encoded: Uint8Array): boolean {
  return curve === 'Ed25519' ? isSmall25519(yOf(encoded, 255)) : isSmall448(yOf(encoded, 448));
}

/** Tests for order 4, for orders 1 and 2, and for order 8: there doubling gives y = 0, so -x^2 = y^2, an equation in y alone. */
function isSmall25519(y: bigint): boolean {
  const y2 = (y * y) % P_25519;
  const order8 = (-121_665n * y2 * y2 + 121_666n * (2n * y2 - 1n)) % P_25519;
  return y % P_25519 === 0n || y2 === 1n || order8 === 0n;
}

/** Tests for order 4, and for orders 1 and 2. */
function isSmall448(y: bigint): boolean {
  return y % P_448 === 0n || (y * y) % P_448 === 1n;
}

/** The lowest bits, little-endian; the sign of x lies above them. */
function yOf(encoded: Uint8Array, bits: number): bigint {
  return BigInt.asUintN(bits, BigInt(`0x${Buffer.from(encoded).reverse().toString('hex')}`));
}
