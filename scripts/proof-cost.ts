// Measures the processor time of a proof of possession (DPoP) next to that of a known token without one, by algorithm: of the same
// token, with a new proof each time. All cases take turns in each round; prints medians with their range.
// node scripts/proof-cost.ts [ROUNDS] [PROOFS]
import { ownMemory, systemClock, thisMachine } from '../src/core/index.ts';
import { Nonces, ProofKeys, Proofs, SeenProofs } from '../src/identity/auth/index.ts';
import { clientKey, hashOfToken, proofOf } from '../test/support/proofs.ts';

const ROUNDS = Number(process.argv[2] ?? 9);
const PROOFS = Number(process.argv[3] ?? 2_000);
const TOKEN = 'x'.repeat(900);
const ALGORITHMS = ['ES256', 'EdDSA', 'ES384', 'RS256', 'PS256'] as const;

const memory = ownMemory(thisMachine.randomBytes);
const proofs = new Proofs(
  { required: false, leewayMs: 600_000, nonceMs: null },
  {
    seen: new SeenProofs(250_000, systemClock, memory),
    keys: new ProofKeys(),
    nonces: new Nonces(memory.secret('nonces', 32), systemClock),
    claimElsewhere: null,
    budget: null,
    clock: systemClock,
    listener: { proofAccepted() {}, budgetSpent() {} },
  },
);
const request = { method: 'GET', scheme: 'https', host: 'api.example.com', path: '/orders/7' } as const;

function check(key: string | null, proof: string | null): void {
  const verdict = proofs.check({
    ...request,
    ...{ key, proof, underDpop: key !== null, tokenHash: () => hashOfToken(TOKEN) },
    ...{ address: '192.0.2.1', isKnown: true },
  });
  if ('kind' in verdict && verdict.kind !== 'proved')
    throw new Error(`the proof was refused: ${verdict.kind}`);
}

const clients = ALGORITHMS.map(algorithm => ({
  algorithm,
  client: clientKey(algorithm),
  micros: [] as number[],
}));
const without: number[] = [];
for (let round = 0; round <= ROUNDS; round++) {
  for (const { client, micros } of clients) {
    const made = Array.from({ length: PROOFS }, () =>
      proofOf(client, { htu: 'https://api.example.com/orders/7', ath: hashOfToken(TOKEN) }),
    );
    const spent = cost(made, proof => check(client.thumbprint, proof));
    // The first round warms up.
    if (round > 0) micros.push(spent);
  }
  const spent = cost(Array<string>(PROOFS).fill(''), () => check(null, null));
  if (round > 0) without.push(spent);
}
console.log(`${'no proof'.padEnd(10)}${summary(without)}`);
for (const { algorithm, micros } of clients) console.log(`${algorithm.padEnd(10)}${summary(micros)}`);

/** Microseconds of processor time per proof. */
function cost(made: readonly string[], each: (proof: string) => void): number {
  const before = process.cpuUsage();
  for (const proof of made) each(proof);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / made.length;
}

function summary(micros: readonly number[]): string {
  const sorted = micros.toSorted((a, b) => a - b);
  const [low, median, high] = [0, Math.floor(sorted.length / 2), sorted.length - 1].map(i => sorted[i] ?? 0);
  return `${median?.toFixed(1)} us (${low?.toFixed(1)} to ${high?.toFixed(1)})`;
}
