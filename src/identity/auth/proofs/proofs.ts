import type { AuthListener, Clock, ProofReason } from '../../../core/index.ts';
import { digestOf } from '../../../core/index.ts';
import type { CheckBudget } from '../budget.ts';
import { isSignature } from '../token/index.ts';
import type { Nonces } from './nonces.ts';
import { type Proof, type ProvenRequest, readProof } from './proof.ts';
import type { ProofKeys } from './proof-keys.ts';
import type { SeenProofs } from './seen-proofs.ts';

export interface ProofOptions {
  /** Whether tokens that are not bound to a key are refused. */
  readonly required: boolean;
  /** How far `iat` may be from now. */
  readonly leewayMs: number;
  /** How long a nonce of the gateway is valid; `null` if proofs need no nonce. */
  readonly nonceMs: number | null;
}

export interface ProofsDependencies {
  readonly seen: SeenProofs;
  readonly keys: ProofKeys;
  readonly nonces: Nonces;
  /**
   * Claims a name for this process. Resolves to whether it was new to the other gateways; `unknown` if they cannot be asked, and
   * nothing may be admitted meanwhile. `null` if this process is alone.
   */
  readonly claimElsewhere: ((name: string, forMs: number) => Promise<boolean | 'unknown'>) | null;
  /** Bounds the bad proofs of an address; `null` if they are not limited. */
  readonly budget: CheckBudget | null;
  readonly clock: Clock;
  readonly listener: Pick<AuthListener, 'proofAccepted' | 'budgetSpent'>;
}

/** A request with a valid token, and the proof that its sender has the token's key. */
export interface ProofClaim extends Omit<ProvenRequest, 'key' | 'tokenHash'> {
  /** The thumbprint of the key that the token is bound to; `null` if it is bound to none. */
  readonly key: string | null;
  /** Computes the SHA-256 of the token, base64url. */
  readonly tokenHash: () => string;
  /** Whether the token was sent with the scheme `DPoP`. */
  readonly underDpop: boolean;
  /** The value of `DPoP`; '' if there were several, `null` if there was none. */
  readonly proof: string | null;
  /** The key of the sender's address. */
  readonly address: string;
  /**
   * Whether the last proof on its connection was good, and made with the same key: then the budget of its address does not apply.
   */
  readonly isKnown: boolean;
}

export type ProofVerdict =
  /** `nonce`: a new one for the client; `null` if it needs none. */
  | { readonly kind: 'proved'; readonly nonce: string | null }
  | { readonly kind: 'refused'; readonly reason: ProofReason; readonly nonce: string | null }
  /** The address has spent its budget of failed verifications. */
  | { readonly kind: 'spent'; readonly retryAfterMs: number }
  /** The other gateways cannot be asked whether they have seen it, and the policy refuses everything meanwhile. */
  | { readonly kind: 'unavailable'; readonly retryAfterMs: number };

const PROVED: ProofVerdict = { kind: 'proved', nonce: null };
const RETRY_MS = 1_000;

/**
 * Checks whether the sender of a token has the key that the token is bound to (RFC 9449, 4.3 and 7.1). Checks the cheapest things
 * first, and the signature only if everything else is right.
 */
export class Proofs {
  readonly options: ProofOptions;
  readonly #dependencies: ProofsDependencies;

  constructor(options: ProofOptions, dependencies: ProofsDependencies) {
    this.options = options;
    this.#dependencies = dependencies;
  }

  check(claim: ProofClaim): ProofVerdict | Promise<ProofVerdict> {
    const { key, underDpop, proof: text } = claim;
    if (key === null) return underDpop || this.options.required ? this.#refuse('unbound') : PROVED;
    if (!underDpop) return this.#refuse('proof_scheme');
    if (text === null) return this.#refuse('proof_missing');
    const proof = readProof(text, { ...claim, key, tokenHash: claim.tokenHash() });
    if (typeof proof === 'string') return this.#fail(proof, claim);
    const apartMs = Math.abs(this.#dependencies.clock.epochMs() - proof.issuedAtMs);
    if (apartMs > this.options.leewayMs) return this.#fail('proof_time', claim);
    const nonce = this.#judgeNonce(proof);
    return nonce === 'bad' ? this.#refuse('proof_nonce') : this.#verify(proof, { ...claim, key }, nonce);
  }

  #judgeNonce({ nonce }: Proof): ReturnType<Nonces['judge']> {
    const { nonceMs } = this.options;
    return nonceMs === null ? 'good' : this.#dependencies.nonces.judge(nonce ?? '', nonceMs);
  }

  #verify(
    proof: Proof,
    claim: ProofClaim & { readonly key: string },
    nonce: 'good' | 'aging',
  ): ProofVerdict | Promise<ProofVerdict> {
    const { budget, keys, seen, claimElsewhere, listener } = this.#dependencies;
    const waitMs = claim.isKnown ? 0 : (budget?.waitMs(claim.address) ?? 0);
    if (waitMs > 0) {
      listener.budgetSpent();
      return { kind: 'spent', retryAfterMs: waitMs };
    }
    const keyObject = keys.of(claim.key, proof.jwk);
    if (keyObject === null) return this.#fail('proof_key', claim);
    const { algorithm, signingInput, signature } = proof.jwt;
    if (!isSignature(algorithm, keyObject, Buffer.from(signingInput, 'latin1'), signature))
      return this.#fail('proof_signature', claim);
    // A proof with an `iat` at the end of the leeway in the future stays valid for twice the leeway.
    const forMs = 2 * this.options.leewayMs;
    const use = seen.take(claim.key, proof.id, proof.issuedAtMs, forMs);
    if (use !== 'new') return this.#fail(use === 'used' ? 'proof_replayed' : 'proof_time', claim);
    if (claimElsewhere === null) return this.#accept(nonce);
    return claimElsewhere(digestOf(`${claim.key} ${proof.id}`), forMs).then(answer => {
      if (answer === 'unknown') return { kind: 'unavailable', retryAfterMs: RETRY_MS };
      return answer ? this.#accept(nonce) : this.#fail('proof_replayed', claim);
    });
  }

  #accept(nonce: 'good' | 'aging'): ProofVerdict {
    this.#dependencies.listener.proofAccepted();
    return nonce === 'good' ? PROVED : { kind: 'proved', nonce: this.#freshNonce() };
  }

  /** Refuses a bad proof, and charges it to the budget of its address. */
  #fail(reason: ProofReason, { address }: ProofClaim): ProofVerdict {
    this.#dependencies.budget?.failed(address, 1);
    return this.#refuse(reason);
  }

  #refuse(reason: ProofReason): ProofVerdict {
    return { kind: 'refused', reason, nonce: this.#freshNonce() };
  }

  #freshNonce(): string | null {
    const { nonceMs } = this.options;
    return nonceMs === null ? null : this.#dependencies.nonces.fresh(nonceMs);
  }
}
