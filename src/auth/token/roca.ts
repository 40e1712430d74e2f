/**
 * The odd primes up to 167. The faulty generator takes its candidates modulo the product of these and more, so one test
 * serves every length of key.
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
  /** The exponent that makes a power, by the power. */
  readonly logs: ReadonlyMap<number, number>;
}

/** Of an exponent, all that one prime tells: what it is modulo the order. */
interface Residue {
  readonly log: number;
  readonly order: number;
}

const SUBGROUPS = PRIMES.map(subgroupOf);

/**
 * Whether an RSA modulus came from the faulty generator of Infineon's chips (ROCA, CVE-2017-15361), so that it can be
 * factored. Its primes are k * M + (65537^a mod M), M being a product of small primes, and so is their product: a power of
 * 65537 modulo each of them, by one and the same exponent. Nemec et al., "The Return of Coppersmith's Attack", section 3. An
 * honest modulus passes for one with a chance of 2^-154; without the common exponent it would be 2^-28.
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

/** Some number has both residues (Chinese remainder theorem; where all pairs agree, some number has all of them). */
function agree(one: Residue, other: Residue): boolean {
  return (one.log - other.log) % greatestCommonDivisor(one.order, other.order) === 0;
}

function subgroupOf(prime: number): Subgroup {
  const logs = new Map<number, number>();
  for (let power = 1; !logs.has(power); power = (power * GENERATOR) % prime) logs.set(power, logs.size);
  return { prime: BigInt(prime), order: logs.size, logs };
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
