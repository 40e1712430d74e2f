import type * as core from '../../core/index.ts';
import { hashOfToken, RecentMap } from '../../core/index.ts';
import type { TokenBudget } from './budget.ts';
import { type Caller, callerOf, type Verdict } from './caller.ts';
import type { AccessTokenOptions, CacheOptions } from './options.ts';
import { Refusals } from './refusals.ts';
import { revocableOf } from './revocation-rules.ts';
import type { IssuerRevocations } from './revocations.ts';
import { type Invalid, invalid, isOpaque, type JsonObject, member, refuseClaims } from './token/index.ts';
import type { TokenVerifier } from './verifier.ts';

interface OpaqueDependencies {
  /** Asks the provider about a token, as `Introspection.question` does. */
  readonly ask: (
    token: string,
    address: string | null,
    maxAgeMs: number,
  ) => core.TokenReply | Promise<core.TokenReply>;
  readonly revocations: IssuerRevocations;
  /** Limits how many requests to the provider an address can cause; `null` for no limit. */
  readonly budget: TokenBudget | null;
  readonly clock: core.Clock;
  readonly listener: core.AuthListener;
}

/** The characters of a bearer token (RFC 6750, 2.1). The provider is not asked about anything else. */
const BEARER_TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/**
 * Negative answers are cached for this fraction of `cache`, but at least a second: a client may use a token before its provider
 * knows it.
 */
const NEGATIVE_PART = 1 / 10;
const LEAST_NEGATIVE_MS = 1_000;

/**
 * Turns opaque tokens into callers by introspection (RFC 7662). Identifies tokens by their hashes. There is at most one request
 * about a token at a time, and an answer is used for as long as the configuration says.
 *
 * Anyone can send tokens that cause a request. So each counts as a failed verification of its address until the provider has said
 * that the token is active. Asking again about a token that was active costs its address nothing: many users may share one.
 */
export class OpaqueVerifier implements TokenVerifier {
  readonly #options: AccessTokenOptions;
  readonly #cacheMs: number;
  readonly #parts: OpaqueDependencies;
  /**
   * Asks the provider with the current configuration, whose client may have another secret than when a stream began. Shared with
   * the previous and the next verifier.
   */
  readonly #inUse: { ask: OpaqueDependencies['ask'] };
  readonly #callers: RecentMap<Caller>;
  readonly #refusals: Refusals;
  /** Requests in progress, each with the maximum age of its answer. */
  readonly #asking = new Map<string, { readonly verdict: Promise<Verdict>; readonly answerAgeMs: number }>();
  /** The latest answers about the callers of streams in progress. */
  readonly #reviews = new WeakMap<Caller, { readonly askedAtMs: number; readonly isOver: boolean }>();

  /** @param before the verifier of the configuration in use, for the same issuer */
  constructor(
    options: AccessTokenOptions,
    cacheMs: number,
    cache: CacheOptions,
    parts: OpaqueDependencies,
    before: OpaqueVerifier | null = null,
  ) {
    this.#options = options;
    this.#cacheMs = cacheMs;
    this.#parts = parts;
    this.#inUse = before === null ? { ask: parts.ask } : before.#inUse;
    this.#callers = new RecentMap(cache.maxTokens);
    const refusedForMs = Math.max(LEAST_NEGATIVE_MS, cacheMs * NEGATIVE_PART);
    this.#refusals = new Refusals({ ...cache, refusedForMs });
  }

  verify(token: string, address: string, maxAgeMs: number): Verdict | Promise<Verdict> {
    const verdict = this.#judge(token, address, maxAgeMs);
    return verdict instanceof Promise ? verdict.then(each => this.#reported(each)) : this.#reported(verdict);
  }

  /** Judges a token that comes straight from the provider. Counts no refusal, and uses no budget. */
  async preview(token: string): Promise<Verdict> {
    const verdict = await this.#judge(token, null, this.#cacheMs);
    const isUnbound = 'proofKey' in verdict && verdict.proofKey === null;
    return isUnbound && this.#options.dpop === 'required' ? invalid('unbound') : verdict;
  }

  remembered(token: string): Caller | null {
    const known = this.#callers.get(hashOfToken(token));
    return known !== undefined && this.accepts(known, this.#cacheMs) ? known : null;
  }

  refuse(refusal: Invalid): Invalid {
    this.#parts.listener.tokenRefused(refusal.reason, refusal.claim);
    return refusal;
  }

  accepts(caller: Caller, maxAgeMs: number): boolean {
    const { clock, listener } = this.#parts;
    const accepted =
      this.#isFresh(caller.askedAtMs, maxAgeMs) &&
      clock.epochMs() < caller.expiresAtMs &&
      this.#parts.revocations.refusalOf(caller) === null;
    if (accepted) listener.tokenKnown();
    return accepted;
  }

  /**
   * Asks the provider again, in the background, once its answer is too old. If the provider does not answer, the token stays valid
   * until its `exp`.
   */
  endOf(caller: Caller, token: string | null): core.TokenEnd | null {
    const revoked = this.#parts.revocations.refusalOf(caller);
    if (revoked !== null) return revoked;
    if (this.#parts.clock.epochMs() >= caller.expiresAtMs) return 'expired';
    const review = this.#reviews.get(caller);
    if (review?.isOver === true) return 'inactive';
    if (token === null || this.#isFresh(review?.askedAtMs ?? caller.askedAtMs, this.#cacheMs)) return null;
    const verdict = this.#judge(token, null, this.#cacheMs);
    if (verdict instanceof Promise) void verdict.then(each => this.#review(caller, each));
    else this.#review(caller, verdict);
    return null;
  }

  /** Puts this verifier into use. */
  serve(): void {
    this.#inUse.ask = this.#parts.ask;
  }

  /** Clears the remembered tokens, since few requests still use this verifier. */
  forget(): void {
    this.#callers.clear();
    this.#refusals.forget();
  }

  #review(caller: Caller, verdict: Verdict): void {
    if (verdict.kind === 'invalid') this.#reviews.set(caller, { askedAtMs: 0, isOver: true });
    else if ('askedAtMs' in verdict && verdict.askedAtMs !== null)
      this.#reviews.set(caller, { askedAtMs: verdict.askedAtMs, isOver: false });
  }

  #reported(verdict: Verdict): Verdict {
    if (verdict.kind === 'spent') this.#parts.listener.budgetSpent();
    return verdict.kind === 'invalid' ? this.refuse(verdict) : verdict;
  }

  /** @param address the address whose budget is charged; `null` if no client has sent the token */
  #judge(token: string, address: string | null, maxAgeMs: number): Verdict | Promise<Verdict> {
    // 1. Find what is known about the token, or a request in progress.
    if (!BEARER_TOKEN.test(token)) return invalid('malformed');
    const tokenHash = hashOfToken(token);
    const known = this.#callers.get(tokenHash);
    if (known !== undefined && this.accepts(known, maxAgeMs)) return known;
    const refused = this.#refusals.find(tokenHash, this.#parts.clock.monotonicMs());
    if (refused !== null) return refused;
    const answerAgeMs = Math.min(this.#cacheMs, maxAgeMs);
    const asking = this.#asking.get(tokenHash);
    if (asking !== undefined && asking.answerAgeMs <= answerAgeMs) return asking.verdict;

    // 2. Check the budget, unless the token was active before.
    const { budget: own } = this.#parts;
    const isFree = known !== undefined || address === null || own?.hasPassed(tokenHash) === true;
    const budget = isFree ? null : own;
    const waitMs = budget?.waitMs(address ?? '') ?? 0;
    if (waitMs > 0) return { kind: 'spent', retryAfterMs: waitMs };

    // 3. Ask the provider.
    const told = (address === null ? this.#inUse : this.#parts).ask(token, address, answerAgeMs);
    if (!(told instanceof Promise)) return this.#conclude(told, tokenHash);
    const window = budget?.failed(address ?? '', 1) ?? 0;
    const verdict: Promise<Verdict> = told.then(each => {
      if (this.#asking.get(tokenHash)?.verdict === verdict) this.#asking.delete(tokenHash);
      // A request that did not reach the provider has cost it nothing.
      const isCharged = 'error' in each ? each.reached : each.members === null;
      if (!isCharged) budget?.giveBack(address ?? '', window);
      return this.#conclude(each, tokenHash);
    });
    this.#asking.set(tokenHash, { verdict, answerAgeMs });
    return verdict;
  }

  #conclude(told: core.TokenReply, tokenHash: string): Verdict {
    if ('error' in told) return { kind: 'unanswered', error: told.error };
    const { members, askedAtMs } = told;
    const verdict = members === null ? invalid('inactive') : this.#callerOf(members, tokenHash, askedAtMs);
    if (verdict.kind !== 'invalid') {
      this.#callers.set(tokenHash, verdict);
      this.#parts.budget?.passed(tokenHash);
      this.#parts.revocations.observeLife(verdict.expiresAtMs / 1_000 - verdict.issuedAtS);
      this.#parts.revocations.observeSession(verdict);
      return verdict;
    }
    const principal = verdict.principal ?? this.#callers.get(tokenHash)?.principal ?? null;
    const refusal = { ...verdict, principal };
    this.#callers.delete(tokenHash);
    this.#refusals.keep(tokenHash, refusal, this.#parts.clock.monotonicMs());
    return refusal;
  }

  #callerOf(told: JsonObject, tokenHash: string, askedAtMs: number): Caller | Invalid {
    const members = withoutNulls(told);
    const { clock } = this.#parts;
    const nowMs = clock.epochMs();
    const askedAtS = Math.floor((nowMs - clock.monotonicMs() + askedAtMs) / 1_000);
    // RFC 7662 makes both claims optional. The provider has said that the token was valid when it was asked, so older not-before
    // marks do not apply.
    const claims = { iss: this.#options.issuer, iat: askedAtS, ...members };
    const refusal = refuseClaims({ claims, type: typeIn(members) }, this.#options, nowMs);
    if (refusal !== null) return refusal;
    const revocable = revocableOf({ claims, signingInput: tokenHash });
    const caller = callerOf(claims, revocable, this.#options, null, askedAtMs);
    if (caller.kind === 'invalid') return caller;
    const revoked = this.#parts.revocations.refusalOf(caller);
    return revoked === null ? caller : { ...invalid(revoked), principal: caller.principal };
  }

  #isFresh(askedAtMs: number | null, maxAgeMs: number): boolean {
    const ageMs = this.#parts.clock.monotonicMs() - (askedAtMs ?? Number.NEGATIVE_INFINITY);
    return ageMs < Math.min(this.#cacheMs, maxAgeMs);
  }
}

/** Some providers write every member that they know, with null for those without a value. */
function withoutNulls(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/** The kind of token that an answer names, in the words of a JWT header; `null` if it names none. */
function typeIn(members: JsonObject): string | null {
  const type = member(members, 'token_type');
  if (type === undefined) return null;
  // A DPoP token is checked by its key, so the answer must contain that key.
  const isBound = member(members, 'cnf') !== undefined;
  const kinds = isBound ? /^(?:bearer|access_token|dpop)$/i : /^(?:bearer|access_token)$/i;
  return typeof type === 'string' && kinds.test(type) ? 'at+jwt' : 'another';
}

/** Verifies JWTs with one verifier and opaque tokens with another. */
export class EitherVerifier implements TokenVerifier {
  readonly #jwts: TokenVerifier;
  readonly #opaque: OpaqueVerifier;

  constructor(jwts: TokenVerifier, opaque: OpaqueVerifier) {
    this.#jwts = jwts;
    this.#opaque = opaque;
  }

  verify(token: string, address: string, maxAgeMs: number): Verdict | Promise<Verdict> {
    return this.#for(token).verify(token, address, maxAgeMs);
  }

  remembered(token: string): Caller | null {
    return this.#for(token).remembered(token);
  }

  refuse(refusal: Invalid, caller?: Caller): Invalid {
    return caller === undefined ? this.#jwts.refuse(refusal) : this.#of(caller).refuse(refusal, caller);
  }

  accepts(caller: Caller, maxAgeMs: number): boolean {
    return this.#of(caller).accepts(caller, maxAgeMs);
  }

  endOf(caller: Caller, token: string | null): core.TokenEnd | null {
    return this.#of(caller).endOf(caller, token);
  }

  #for(token: string): TokenVerifier {
    return isOpaque(token) ? this.#opaque : this.#jwts;
  }

  #of({ askedAtMs }: Caller): TokenVerifier {
    return askedAtMs === null ? this.#jwts : this.#opaque;
  }
}
