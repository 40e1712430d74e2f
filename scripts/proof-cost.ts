// Measures the processor time of a proof of possession (DPoP) next to that of a known token without one, by algorithm: of the same
// token, with a new proof each time.
// node scripts/proof-cost.ts [ROUNDS] [PROOFS]
import { ownMemory, systemClock, thisMachine } from '../src/core/index.ts';
import { Nonces, ProofKeys, Proofs, SeenProofs } from '../src/identity/auth/index.ts';
import { clientKey, hashOfToken, proofOf } from '../test/support/proofs.ts';
import { printCosts } from './costs-in-turns.ts';

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

const ofProofs = ALGORITHMS.map(algorithm => {
  const client = clientKey(algorithm);
  const make = () => proofOf(client, { htu: 'https://api.example.com/orders/7', ath: hashOfToken(TOKEN) });
  const prepare = () => {
    const made = Array.from({ length: PROOFS }, make);
    return () => {
      for (const proof of made) check(client.thumbprint, proof);
    };
  };
  return [algorithm, prepare] as const;
});
const without = () => () => {
  for (let i = 0; i < PROOFS; i++) check(null, null);
};
await printCosts(ROUNDS, PROOFS, { 'no proof': without, ...Object.fromEntries(ofProofs) });
