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

/** An exponent modulo the order of one subgroup: all that one prime reveals of it. */
interface Residue {
  readonly log: number;
  readonly order: number;
}

const SUBGROUPS = PRIMES.map(subgroupOf);

/**
 * Whether an RSA modulus came from the faulty generator in Infineon's chips (ROCA, CVE-2017-15361) and can be factored.
 * Its primes have the form k * M + (65537^a mod M) with M a product of small primes, so the modulus is a power of 65537
 * modulo each of these, with one common exponent (Nemec et al., "The Return of Coppersmith's Attack", 3). A sound modulus is
 * mistaken for a faulty one with a probability of 2^-154; without checking for the common exponent it would be 2^-28.
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
