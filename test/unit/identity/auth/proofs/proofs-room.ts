import { randomBytes } from 'node:crypto';
import { ownMemory } from '../../../../../src/core/index.ts';
import {
  Nonces,
  ProofKeys,
  type ProofOptions,
  Proofs,
  type ProofsDependencies,
  type ProofVerdict,
  SeenProofs,
  VerificationBudget,
} from '../../../../../src/identity/auth/index.ts';
import type { ProofClaim } from '../../../../../src/identity/auth/proofs/proofs.ts';
import { BUDGET_OPTIONS } from '../../../../support/identity-options.ts';
import { type ClientKey, clientKey, hashOfToken, proofOf } from '../../../../support/proofs.ts';

export const NOW_S = 1_795_262_400;
const TOKEN = 'header.claims.signature';
export const HASH = hashOfToken(TOKEN);
export const URL = 'https://api.example.com/orders/7';

export const ADA = clientKey();
export const BOB = clientKey();

/** What a client of these tests usually writes into a proof. */
const USUAL = { htu: URL, ath: HASH, iat: NOW_S };

/** Proofs at a time that the test moves, for a request of ADA's token. */
export function proofsRoom(
  options: Partial<ProofOptions> = {},
  more: Partial<ProofsDependencies> = {},
  { maxProofs = 100 } = {},
) {
  const clock = { ms: 0, epochMs: () => NOW_S * 1_000 + clock.ms, monotonicMs: () => 5_000 + clock.ms };
  const events: string[] = [];
  const memory = ownMemory(randomBytes);
  const budget = new VerificationBudget({ ...BUDGET_OPTIONS, limit: 3 }, clock, memory, 'failed');
  const dependencies: ProofsDependencies = {
    seen: new SeenProofs(maxProofs, clock, memory),
    keys: new ProofKeys(),
    nonces: new Nonces(Buffer.alloc(32, 1), clock),
    claimElsewhere: null,
    budget,
    clock,
    listener: { proofAccepted: () => events.push('accepted'), budgetSpent: () => events.push('spent') },
    ...more,
  };
  const proofs = new Proofs({ required: false, leewayMs: 30_000, nonceMs: null, ...options }, dependencies);
  const check = (proof: string | null, claim: Partial<ProofClaim> = {}) =>
    proofs.check({
      method: 'GET',
      scheme: 'https',
      host: 'api.example.com',
      path: '/orders/7',
      key: ADA.thumbprint,
      tokenHash: () => HASH,
      underDpop: true,
      proof,
      address: '192.0.2.1',
      isKnown: false,
      ...claim,
    });
  /** The verdict in a word: `proved`, or the reason for a refusal. */
  const judge = (proof: string | null, claim: Partial<ProofClaim> = {}): string => {
    const verdict = check(proof, claim);
    if (verdict instanceof Promise) throw new Error('the verdict is to come');
    return wordOf(verdict);
  };
  return { clock, events, check, judge, dependencies, proofs };
}

export function wordOf(verdict: ProofVerdict): string {
  return verdict.kind === 'refused' ? verdict.reason : verdict.kind;
}

/** A proof of a client for the usual request. */
export function proof(
  claims: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, unknown>> = {},
  client: ClientKey = ADA,
): string {
  return proofOf(client, { ...USUAL, ...claims }, header);
}
