import type { AuthListener, Clock, RevocationReason, Tenants, TokenEnd } from '../../core/index.ts';
import { hashOfToken, RecentMap, traitsOf } from '../../core/index.ts';
import type { OwnerChecks, TokenBudget } from './budget.ts';
import { type Caller, callerOf, refuseNameless, type Unavailable, type Verdict } from './caller.ts';
import type { KeySet } from './key-set.ts';
import type { AccessTokenOptions, CacheOptions } from './options.ts';
import { Refusals } from './refusals.ts';
import { type Revocable, revocableOf } from './revocation-rules.ts';
import type { IssuerRevocations } from './revocations.ts';
import type { Invalid, Jwt, VerificationKey } from './token/index.ts';
import { boundKey, dateClaim, invalid, parseJwt, refuseClaims, signerOf, tenantOf } from './token/index.ts';

interface VerifierDependencies {
  readonly keys: KeySet;
  readonly revocations: IssuerRevocations;
  /** Limits the failed verifications of an address; `null` if they are not limited. */
  readonly budget: TokenBudget | null;
  /** Bounds the signature checks that only identify the owner of a refused token. Shared by all issuers. */
  readonly ownerChecks: OwnerChecks;
  readonly clock: Clock;
  readonly listener: AuthListener;
}

/** The result of fetching the keys for a token. */
type Fetched =
  /** Not fetched. */
  | 'no'
  /** The fetch began after the token arrived and succeeded: a key that it lacks does not exist. */
  | 'good'
  /** The fetch succeeded but had begun earlier: the key may be newer than the fetched set. */
  | 'joined'
  | 'failed';

/** A token whose claims are good. */
interface Candidate {
  readonly jwt: Jwt;
  readonly revocable: Revocable;
  readonly tokenHash: string;
  /** The key of the client's address, whose budget is charged for a failure. */
  readonly address: string;
  /** The number of keys that its signature was checked with. */
  readonly keysTried: number;
}

/**
 * Turns the tokens of one issuer into callers, without a promise unless the token's key has to be fetched.
 *
 * Checks the cheapest things first: known, recently refused, well-formed, claims, key, budget, signature.
 */
export class Verifier implements TokenVerifier {
  readonly #options: AccessTokenOptions;
  readonly #parts: VerifierDependencies;
  /** Keyed by the token's hash: the token itself is a secret, and longer. */
  readonly #callers: RecentMap<Caller>;
  readonly #refusals: Refusals;
  /** The principals of refused tokens, by the tokens' hashes; '' if unknowable. */
  readonly #refusedPrincipals: RecentMap<string>;

  constructor(options: AccessTokenOptions, cache: CacheOptions, parts: VerifierDependencies) {
    this.#options = options;
    this.#parts = parts;
    this.#callers = new RecentMap(cache.maxTokens);
    this.#refusals = new Refusals(cache);
    this.#refusedPrincipals = new RecentMap(cache.maxRefused);
  }

  /** The issuer whose tokens this verifier accepts, as configured. */
  get issuer(): string {
    return this.#options.issuer;
  }

  /** The tenants whose tokens this verifier accepts; `null` if the provider has no tenants. */
  get tenants(): Tenants | null {
    return this.#options.tenants;
  }

  verify(token: string, address: string): Verdict | Promise<Verdict> {
    const tokenHash = hashOfToken(token);
    const known = this.recall(tokenHash);
    if (known !== null) return known;
    const jwt = parseJwt(token);
    return jwt.kind === 'invalid' ? this.refuse(jwt) : this.judge(jwt, tokenHash, address);
  }

  remembered(token: string): Caller | null {
    const known = this.#callers.get(hashOfToken(token));
    return known !== undefined && this.accepts(known) ? known : null;
  }

  /** Returns the remembered result of a token and reports it to the listener; `null` if the token must be verified. */
  recall(tokenHash: string): Caller | Invalid | null {
    const known = this.#callers.get(tokenHash);
    if (known !== undefined) {
      if (this.accepts(known)) return known;
      this.#refusedPrincipals.set(tokenHash, known.principal);
      // Check it again to determine the reason.
      this.#callers.delete(tokenHash);
    }
    const refusal = this.#refusals.find(tokenHash, this.#parts.clock.epochMs(), this.#parts.keys.version);
    return refusal === null ? null : this.refuse(refusal);
  }

  /**
   * Why a request with this token will be refused, if it will. `undecided` means that its key cannot be fetched now. Counts and
   * remembers nothing. For tokens that come straight from the provider.
   */
  async preview(token: string): Promise<Invalid | 'good' | 'undecided'> {
    const jwt = parseJwt(token);
    if (jwt.kind === 'invalid') return jwt;
    const refusal = refuseClaims(jwt, this.#options, this.#parts.clock.epochMs());
    if (refusal !== null) return refusal;
    const revoked = this.#parts.revocations.refusal(this.#revocableOf(jwt));
    if (revoked !== null) return invalid(revoked);
    if (this.#options.dpop === 'required' && boundKey(jwt.claims) === null) return invalid('unbound');
    return refuseNameless(jwt.claims, this.#options) ?? this.#previewSignature(jwt);
  }

  /** Some providers sign tokens for themselves with keys that they do not publish (Okta), or in their own way (Microsoft Graph). */
  async #previewSignature(jwt: Jwt): Promise<Invalid | 'good' | 'undecided'> {
    if (this.#hasSigned(jwt)) return 'good';
    // A fetch that began earlier may lack a newer key.
    if (this.#parts.keys.fetching || this.#parts.keys.cooldownMs() > 0 || !(await this.#parts.keys.refresh()))
      return 'undecided';
    if (this.#hasSigned(jwt)) return 'good';
    return invalid(this.#parts.keys.knows(jwt) ? 'signature' : 'unknown_key');
  }

  #hasSigned(jwt: Jwt): boolean {
    return signerOf(jwt, this.#parts.keys.candidates(jwt, this.#options.tenants)) !== undefined;
  }

  #revocableOf(jwt: Jwt): Revocable {
    return revocableOf(jwt, tenantOf(jwt.claims, this.#options.tenants));
  }

  refuse(refusal: Invalid): Invalid {
    this.#parts.listener.tokenRefused(refusal.reason, refusal.claim);
    return refusal;
  }

  accepts(caller: Caller): boolean {
    const accepted =
      this.#parts.clock.epochMs() < caller.expiresAtMs &&
      caller.key !== null &&
      this.#parts.keys.holds(caller.key) &&
      this.endOf(caller) === null;
    if (accepted) this.#parts.listener.tokenKnown();
    return accepted;
  }

  endOf(caller: Caller): RevocationReason | null {
    return this.#parts.revocations.refusalOf(caller);
  }

  /** Clears the remembered tokens, since few requests still use this verifier. */
  forget(): void {
    this.#callers.clear();
    this.#refusedPrincipals.clear();
    this.#refusals.forget();
  }

  /** Verifies a token that is not remembered. */
  judge(jwt: Jwt, tokenHash: string, address: string, fetched: Fetched = 'no'): Verdict | Promise<Verdict> {
    // 1. Check what needs no key: tokens of other issuers and expired ones are refused without consuming the budget.
    const refusal = refuseClaims(jwt, this.#options, this.#parts.clock.epochMs());
    if (refusal !== null) return this.#refuseAs(refusal, jwt, tokenHash);
    const revocable = this.#revocableOf(jwt);
    const revoked = this.#parts.revocations.refusal(revocable);
    if (revoked !== null) return this.#refuseAs(invalid(revoked), jwt, tokenHash);

    // 2. Find the key. A known key id with another algorithm is a forgery, not a new key.
    const keys = this.#parts.keys.candidates(jwt, this.#options.tenants);
    if (keys.length === 0 && this.#parts.keys.knows(jwt))
      return this.#refuseAs(invalid('algorithm'), jwt, tokenHash);

    // 3. Ask the budget, once per token: a token that waited for a fetch was admitted before.
    const budget =
      fetched === 'no' && this.#parts.budget?.hasPassed(tokenHash) !== true ? this.#parts.budget : null;
    const waitMs = budget?.waitMs(address) ?? 0;
    if (waitMs > 0) {
      this.#parts.listener.budgetSpent();
      return { kind: 'spent', retryAfterMs: waitMs };
    }

    // 4. Check the signature. If no key fits, the signature may be by a key that the set lacks, even under a known id.
    const key = keys.length === 0 ? undefined : this.#signerOf(jwt, keys);
    if (key !== undefined)
      return this.#accept({ jwt, revocable, tokenHash, address, keysTried: keys.length }, key);

    // 5. Fetch the keys once, and check again.
    const token = { jwt, tokenHash, address, keysTried: keys.length };
    if (fetched !== 'no' || (!this.#parts.keys.fetching && this.#parts.keys.cooldownMs() > 0))
      return this.#answerWithoutKey(token, fetched);
    const joined = this.#parts.keys.fetching;
    return this.#parts.keys
      .refresh()
      .then(good => this.judge(jwt, tokenHash, address, good ? (joined ? 'joined' : 'good') : 'failed'));
  }

  #signerOf(jwt: Jwt, keys: readonly VerificationKey[]): VerificationKey | undefined {
    const key = signerOf(jwt, keys);
    this.#parts.listener.signatureChecked(jwt.algorithm, key !== undefined);
    return key;
  }

  /** Makes a caller of a token whose signature is good. */
  #accept({ jwt, revocable, tokenHash, address, keysTried }: Candidate, key: VerificationKey): Verdict {
    const verdict = callerOf(jwt.claims, revocable, this.#options, key);
    if (verdict.kind === 'invalid') {
      this.#refusals.keep(tokenHash, verdict, this.#parts.clock.epochMs(), this.#parts.keys.version);
      this.#parts.budget?.failed(address, keysTried);
      return this.refuse(verdict);
    }
    this.#callers.set(tokenHash, verdict);
    this.#parts.budget?.passed(tokenHash);
    this.#parts.revocations.observeLife(verdict.expiresAtMs / 1_000 - verdict.issuedAtS);
    this.#parts.revocations.observeSession(verdict);
    return verdict;
  }

  /**
   * Answers if no known key made the signature. A 401 makes clients discard their token, so it is only given if the key cannot be
   * a new one. Both responses consume the budget, so forging `iat` or `kid` gains nothing. Only a wrong signature is remembered.
   */
  #answerWithoutKey(
    { jwt, tokenHash, address, keysTried }: Omit<Candidate, 'revocable'>,
    fetched: Fetched,
  ): Invalid | Unavailable {
    // Before the first key set all honest callers fail here, so nothing is charged.
    if (this.#parts.keys.loaded) this.#parts.budget?.failed(address, Math.max(1, keysTried));
    const issuedAtMs = (dateClaim(jwt.claims, 'iat') ?? 0) * 1_000;
    const mayBeNew = issuedAtMs + this.#options.leewayMs > this.#parts.keys.asOfMs;
    if (fetched !== 'good' && (fetched === 'failed' || mayBeNew)) {
      this.#parts.listener.tokenUndecided();
      return { kind: 'unavailable', retryAfterMs: this.#parts.keys.cooldownMs() };
    }
    if (keysTried === 0) return this.#refuseAs(invalid('unknown_key'), jwt, tokenHash);
    const refusal = invalid('signature');
    this.#refusals.keep(tokenHash, refusal, this.#parts.clock.epochMs(), this.#parts.keys.version);
    return this.refuse(refusal);
  }

  /** Refuses a token, and adds its principal for the log if that is known or can be determined. */
  #refuseAs(refusal: Invalid, jwt: Jwt, tokenHash: string): Invalid {
    let principal = this.#refusedPrincipals.get(tokenHash);
    if (principal === undefined && traitsOf(refusal.reason).namesCaller) {
      principal = this.#trace(jwt) ?? undefined;
      if (principal !== undefined) this.#refusedPrincipals.set(tokenHash, principal);
    }
    return this.refuse(principal ? { ...refusal, principal } : refusal);
  }

  /** The principal of a token with a valid signature; '' if it is invalid, `null` if it was not checked. */
  #trace(jwt: Jwt): string | null {
    const keys = this.#parts.keys.candidates(jwt, this.#options.tenants);
    for (const key of keys) {
      if (!this.#parts.ownerChecks.take()) return null;
      if (signerOf(jwt, [key]) === undefined) continue;
      const caller = callerOf(jwt.claims, this.#revocableOf(jwt), this.#options, key);
      return caller.kind === 'invalid' ? '' : caller.principal;
    }
    return keys.length === 0 ? null : '';
  }
}

/** The methods of a verifier that streams with its tokens or API keys keep using. */
export interface LastingVerifier {
  /**
   * Reports a refusal to the listener and returns it. Also takes refusals of `readBearer`, which leave nothing to verify.
   *
   * @param caller the caller, if its token had been accepted before
   */
  refuse(refusal: Invalid, caller?: Caller): Invalid;

  /**
   * Why streams in progress with the caller's token must end, or `null`.
   *
   * @param token the token, if it is opaque: the provider is asked again; else `null`
   */
  endOf(caller: Caller, token: string | null): TokenEnd | null;
}

/** Turns tokens of one issuer (`Verifier`) or of several (`IssuerVerifiers`) into callers. */
export interface TokenVerifier extends LastingVerifier {
  /**
   * @param token the result of `readBearer`
   * @param address the key of the client's address, whose budget is charged for failures
   * @param maxAgeMs how old the provider's answer about an opaque token may be, if that is less than usual
   */
  verify(token: string, address: string, maxAgeMs: number): Verdict | Promise<Verdict>;

  /** The caller of a token that was verified before and is still accepted, or `null`. */
  remembered(token: string): Caller | null;

  /**
   * Whether this caller's token is still accepted; reports it to the listener if so. For code that remembers a caller together
   * with its token.
   *
   * @param maxAgeMs as in `verify`
   */
  accepts(caller: Caller, maxAgeMs: number): boolean;
}
