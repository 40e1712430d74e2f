/** RFC 8032, 5.1: -x^2 + y^2 = 1 + d x^2 y^2 with d = -121665/121666. */
const P_25519 = 2n ** 255n - 19n;
/** RFC 8032, 5.2. */
const P_448 = 2n ** 448n - 2n ** 224n - 1n;

/**
 * Whether this EdDSA public key is a point whose order divides the cofactor. Such a key accepts a trivial signature over
 * every message, or over one in eight. Node rejects it since nodejs/node#64026, which early releases of Node 24 lack.
 *
 * @param encoded the point as RFC 8032 encodes it; a non-canonical encoding of y counts as the same y
 */
export function isOfSmallOrder(curve: 'Ed25519' | 'Ed448', encoded: Uint8Array): boolean {
  return curve === 'Ed25519' ? isSmall25519(yOf(encoded, 255)) : isSmall448(yOf(encoded, 448));
}

/** Orders 4; 1 and 2; 8. Order 8 is where doubling gives y = 0, so -x^2 = y^2, which leaves an equation in y alone. */
function isSmall25519(y: bigint): boolean {
  const y2 = (y * y) % P_25519;
  const order8 = (-121_665n * y2 * y2 + 121_666n * (2n * y2 - 1n)) % P_25519;
  return y % P_25519 === 0n || y2 === 1n || order8 === 0n;
}

/** Order 4; 1 and 2. */
function isSmall448(y: bigint): boolean {
  return y % P_448 === 0n || (y * y) % P_448 === 1n;
}

/** The lowest bits, little-endian; the sign of x lies above them. */
function yOf(encoded: Uint8Array, bits: number): bigint {
  return BigInt.asUintN(bits, BigInt(`0x${Buffer.from(encoded).reverse().toString('hex')}`));
}
