import { checkPrimeSync, createHash, createPrivateKey, type KeyObject, randomBytes } from 'node:crypto';
import { base64Url, type IssuerKey } from './token-issuer.ts';

const EXPONENT = 65_537n;
/** `DigestInfo` of SHA-256, before the digest (RFC 8017 section 9.2, note 1). */
const SHA256_INFO = '3031300d060960864801650304020105000420';

/** An RSA key of 2,048 bits as Infineon's faulty generator made them (ROCA). It signs like any other. */
export function rocaKey(kid: string): IssuerKey {
  const [p, q] = [rocaPrime(), rocaPrime()];
  const d = inverse(EXPONENT, (p - 1n) * (q - 1n));
  const members = { n: p * q, e: EXPONENT, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) };
  const numbers = Object.entries(members).map(([name, value]) => [name, base64Url(bytesOf(value))]);
  const key = { kty: 'RSA', ...Object.fromEntries(numbers) };
  const privateKey = createPrivateKey({ key, format: 'jwk' });
  return { kid, alg: 'RS256', privateKey, jwk: { kty: 'RSA', n: key.n, e: key.e, kid, alg: 'RS256' } };
}

/** k * M + (65537^a mod M) of 1,024 bits, M being the product of the first 126 primes: Nemec et al., section 2.1. */
function rocaPrime(): bigint {
  const product = primorial(126);
  const least = (3n << 1_022n) / product;
  for (;;) {
    const k = least + (numberOf(randomBytes(16)) % (2n ** 1_024n / product - least - 1n));
    const candidate = k * product + power(EXPONENT, numberOf(randomBytes(32)), product);
    if (checkPrimeSync(candidate)) return candidate;
  }
}

/** The product of this many primes, from 2 on. */
export function primorial(count: number): bigint {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) if (primes.every(prime => n % prime !== 0)) primes.push(n);
  return primes.reduce((product, prime) => product * BigInt(prime), 1n);
}

/** A signature of RS256 that anybody can make for an RSA key with the public exponent 1: the padded digest itself. */
export function forgeForExponentOne(input: string, modulusBytes: number): string {
  const digest = createHash('sha256').update(input).digest('hex');
  const tail = `00${SHA256_INFO}${digest}`;
  const padding = 'ff'.repeat(modulusBytes - 2 - tail.length / 2);
  return base64Url(Buffer.from(`0001${padding}${tail}`, 'hex'));
}

/** The modulus of a key. */
export function modulusOf(key: KeyObject): bigint {
  return numberOf(Buffer.from(key.export({ format: 'jwk' }).n ?? '', 'base64url'));
}

export function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let [result, square] = [1n, base % modulus];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest % 2n === 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}

export function bytesOf(value: bigint): Buffer {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}

export function numberOf(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString('hex')}`);
}

function inverse(a: bigint, modulus: bigint): bigint {
  let [r, next, s, nextS] = [modulus, a % modulus, 0n, 1n];
  while (next !== 0n) {
    const quotient = r / next;
    [r, next] = [next, r - quotient * next];
    [s, nextS] = [nextS, s - quotient * nextS];
  }
  return ((s % modulus) + modulus) % modulus;
}
