import { type IdentityModel, noticeKindsIn, type ProviderModel } from '../../config/index.ts';
import type { AuthListener, NewPermits, NoticeKind, SignInListener, System } from '../../core/index.ts';
import { hasSameItems, type Kept, NOTICE_KINDS, ofTenant, reuse, tenantIn } from '../../core/index.ts';
import {
  type AccessTokenOptions,
  ApiKeys,
  type Caller,
  EitherVerifier,
  type Invalid,
  type IssuerRevocations,
  IssuerVerifiers,
  invalid,
  isOpaque,
  NO_SUBJECT,
  type NoticeIssuer,
  Notices,
  type NoticesDependencies,
  OpaqueVerifier,
  type OwnerChecks,
  Proofs,
  type ProofsDependencies,
  type Revocations,
  type TokenBudget,
  type TokenVerifier,
  type VerificationBudget,
  Verifier,
} from '../../identity/auth/index.ts';
import { Introspection, type LearntMark, SignIn } from '../../identity/signin/index.ts';
import { Issuer, type IssuerDependencies, type KeptIssuer } from './issuer.ts';
import { issuerKey, type SharedIssuers } from './issuer-sharing.ts';

export interface IdentityDependencies extends Pick<System, 'clock' | 'random' | 'network'> {
  /**
   * Returns the listener for a provider, by its name in metrics and logs; for the only provider, which they do not name (`null`);
   * or for tokens of no provider (`none`).
   */
  readonly listenerOf: (provider: string | null) => AuthListener & SignInListener;
  readonly revocations: Revocations;
  readonly notices: NoticesDependencies;
  /** Bounds failed verifications, if the configuration limits them. Outlives changes of providers: it is for addresses. */
  readonly budget: VerificationBudget;
  readonly ownerChecks: OwnerChecks;
  readonly permits: NewPermits;
  readonly issuers: SharedIssuers;
  /** What proofs of possession are checked with. Outlives changes of the configuration. */
  readonly proofs: Pick<ProofsDependencies, 'seen' | 'keys' | 'nonces' | 'claimElsewhere'>;
}

/** Identifies callers by their tokens and signs users in, at one or more providers. */
export class Identity {
  /** Stays the same object while nothing changes, because connections remember tokens by their verifier. */
  readonly verifier: TokenVerifier;
  /** Signs users in; `null` if no provider does. */
  readonly signIn: SignIn | null;
  readonly notices: Notices;
  /** Checks the proofs of tokens that are bound to a key; `null` if there are no such tokens. */
  readonly proofs: Proofs | null;
  readonly #model: IdentityModel;
  readonly #parts: {
    readonly jwts: Kept<readonly Verifier[], TokenVerifier>;
    readonly either: Kept<readonly (TokenVerifier | OpaqueVerifier)[], TokenVerifier>;
    readonly apiKeys: Kept<unknown, ApiKeys | null>;
  };
  readonly #providers: readonly ProviderIdentity[];
  readonly #budget: VerificationBudget;
  readonly #allKnow: NoticesDependencies['allKnow'];

  /** Leaves `before` unchanged. Throws if the options are invalid. */
  constructor(model: IdentityModel, dependencies: IdentityDependencies, before: Identity | null = null) {
    const { listenerOf, ...shared } = dependencies;
    const budget = model.failedVerifications === null ? null : dependencies.budget;
    const known = before === null ? [] : before.#providers;
    const parts = before === null ? null : before.#parts;
    this.#model = model;
    this.#budget = dependencies.budget;
    this.#allKnow = dependencies.notices.allKnow;
    this.#providers = model.providers.map(each => {
      const old = known.find(({ issuer }) => issuer === each.provider.issuer) ?? null;
      const { maxTokenLength } = model;
      const own = { ...shared, budget, maxTokenLength, listener: listenerOf(each.label) };
      return new ProviderIdentity(each, own, old);
    });
    const { apiKeys } = model;
    const { clock } = shared;
    // With several providers, metrics and log lines of keys and proofs name no provider.
    const listener = listenerOf(model.providers.length > 1 ? 'none' : null);
    const verifiers = this.#providers.map(({ verifier }) => verifier);
    const jwts = reuse(
      parts?.jwts,
      verifiers,
      ([only, ...others]): TokenVerifier =>
        only !== undefined && others.length === 0 ? only : new IssuerVerifiers(verifiers, listenerOf('none')),
      hasSameItems,
    );
    const opaque = this.#providers.find(each => each.opaque !== null)?.opaque ?? null;
    this.#parts = {
      jwts,
      either: reuse(
        parts?.either,
        opaque === null ? [jwts.part] : [jwts.part, opaque],
        () => (opaque === null ? jwts.part : new EitherVerifier(jwts.part, opaque)),
        hasSameItems,
      ),
      apiKeys: reuse(parts?.apiKeys, [apiKeys, budget, model.providers.length > 1], () =>
        apiKeys === null
          ? null
          : new ApiKeys(apiKeys, { budget, clock, listener }, parts?.apiKeys.part ?? null),
      ),
    };
    this.verifier = this.#parts.either.part;
    this.proofs =
      model.dpop === null
        ? null
        : new Proofs(model.dpop, { ...dependencies.proofs, budget, clock, listener });
    this.signIn = this.#providers.find(({ signIn }) => signIn !== null)?.signIn ?? null;
    const issuers = this.#providers.map(({ noticeIssuer }) => noticeIssuer);
    this.notices = new Notices(
      issuers.filter(issuer => issuer !== null),
      dependencies.notices,
    );
  }

  /** Verifies API keys; `null` if there are none. */
  get apiKeys(): ApiKeys | null {
    return this.#parts.apiKeys.part;
  }

  /** Refuses the tokens of the caller's session from now on. Resolves once all threads do: see `ProcessPart.allKnow`. */
  endSession({ issuer, session, subject, issuedAtS }: Caller): Promise<void> {
    const provider = this.#providers.find(each => each.issuer === issuer);
    provider?.revocations.endSession(session, issuedAtS, subject ?? NO_SUBJECT);
    return this.#allKnow();
  }

  /** Whether this caller's provider still considers its token valid: see `Introspection.ask`. */
  introspect(
    { issuer, askedAtMs }: Caller,
    token: string,
    maxAgeMs: number,
    address: string,
  ): ReturnType<Introspection['ask']> {
    // The answer that identified this caller is recent enough for the route.
    if (askedAtMs !== null) return 'active';
    const provider = this.#providers.find(each => each.issuer === issuer);
    const answer = provider?.introspect(token, maxAgeMs, address) ?? null;
    if (answer === null) throw new Error('introspection was not checked: a provider cannot be asked');
    return answer;
  }

  /**
   * True once each provider has sent its keys or failed to, and at least one has sent them. An unavailable provider must not keep
   * the others' callers out, nor a slightly slower one lose its own callers. Never becomes false again.
   */
  get ready(): boolean {
    return (
      this.#providers.length === 0 ||
      (this.#providers.every(({ hasAnswered }) => hasAnswered) &&
        this.#providers.some(({ hasKeys }) => hasKeys))
    );
  }

  /** What is known about each provider, in file order. */
  get facts() {
    return this.#providers.map(({ facts }) => facts);
  }

  /**
   * Starts sending requests to the providers, in the background, unless the previous identity already does.
   *
   * @param onReady called whenever a provider has answered and this is ready, never before `start` returns
   */
  start(onReady: () => void = () => {}): void {
    for (const provider of this.#providers) {
      provider.start(() => {
        if (this.ready) onReady();
      });
    }
  }

  /** Puts this identity into use: its settings now apply to the parts shared with the previous one. */
  serve(): void {
    for (const provider of this.#providers) provider.serve();
    this.apiKeys?.serve();
    if (this.#model.failedVerifications !== null) this.#budget.use(this.#model.failedVerifications);
  }

  /** Stops everything that `next` has not taken over, except for exchanges in progress. */
  retire(next: Identity | null): void {
    if (next === null || next.apiKeys === null) this.apiKeys?.retire();
    for (const provider of this.#providers) provider.retire(next === null ? [] : next.#providers);
  }

  get adminNotices(): ReadonlySet<NoticeKind> {
    const isAdmin = (kind: NoticeKind) =>
      this.#model.providers.some(({ notices }) => notices[kind] === 'admin');
    return new Set(NOTICE_KINDS.filter(isAdmin));
  }

  stop(): void {
    for (const provider of this.#providers) provider.stop();
  }
}

export type ProviderFacts = Identity['facts'][number];

interface ProviderIdentityDependencies extends IssuerDependencies {
  /** Bounds failed verifications; `null` if they are not limited. */
  readonly budget: TokenBudget | null;
  readonly ownerChecks: OwnerChecks;
  readonly maxTokenLength: number;
  readonly permits: NewPermits;
}

type About = 'introspection' | 'opaque tokens';

/**
 * Verifies the tokens of one provider and signs users in there, with its endpoints, its keys, and what was learnt from both.
 * Takes over what is still valid from the previous configuration.
 */
class ProviderIdentity {
  readonly #model: ProviderModel;
  readonly #issuer: KeptIssuer;
  readonly #isIssuerNew: boolean;
  readonly #listener: SignInListener;
  readonly #maxTokenLength: number;
  readonly #issuers: SharedIssuers;
  readonly #parts: {
    readonly verifier: Kept<unknown, Verifier>;
    readonly introspection: Kept<unknown, Introspection | null>;
    /** Asks about opaque tokens; `null` if they are not accepted. */
    readonly questions: Kept<unknown, Introspection | null>;
    readonly opaque: Kept<unknown, OpaqueVerifier | null>;
    readonly signIn: Kept<unknown, SignIn | null>;
  };

  /** Leaves `before` unchanged. Throws if the options are invalid. */
  constructor(
    model: ProviderModel,
    dependencies: ProviderIdentityDependencies,
    before: ProviderIdentity | null,
  ) {
    const { budget } = dependencies;
    const { accessTokens, cache, introspection, opaqueTokens, signIn } = model;
    const issuer = before === null ? null : before.#issuer;
    this.#model = model;
    this.#listener = dependencies.listener;
    this.#maxTokenLength = dependencies.maxTokenLength;
    this.#issuer = Issuer.of(model, dependencies, issuer);
    this.#isIssuerNew = this.#issuer !== issuer;
    // What was verified and learnt with another issuer is not valid for this one.
    const known = before === null || this.#isIssuerNew ? null : before.#parts;
    const questions = reuse(known?.questions, [introspection, opaqueTokens === null], () =>
      opaqueTokens === null ? null : this.#newIntrospection(dependencies, 'opaque tokens'),
    );
    this.#issuers = dependencies.issuers;
    this.#parts = {
      questions,
      // Reused with the tokens that it has verified.
      verifier: reuse(known?.verifier, [accessTokens, cache, budget], () => this.#newVerifier(dependencies)),
      introspection: reuse(known?.introspection, introspection, () =>
        this.#newIntrospection(dependencies, 'introspection'),
      ),
      opaque: reuse(known?.opaque, [accessTokens, cache, budget, introspection, opaqueTokens], () =>
        this.#newOpaque(questions.part, dependencies, before === null ? null : before.opaque),
      ),
      signIn: reuse(known?.signIn, signIn, () => this.#newSignIn(dependencies)),
    };
  }

  get verifier(): Verifier {
    return this.#parts.verifier.part;
  }

  /** Signs users in at this provider; `null` if it does not. */
  get signIn(): SignIn | null {
    return this.#parts.signIn.part;
  }

  /** Verifies its opaque tokens; `null` if they are not accepted. */
  get opaque(): OpaqueVerifier | null {
    return this.#parts.opaque.part;
  }

  get issuer(): string {
    return this.#model.provider.issuer;
  }

  get revocations(): IssuerRevocations {
    return this.#issuer.part.revocations;
  }

  /** What its notices are checked with; `null` if none are received. */
  get noticeIssuer(): NoticeIssuer | null {
    const { client, accessTokens, notices } = this.#model;
    const kinds = new Set(noticeKindsIn(notices));
    if (client === null || kinds.size === 0) return null;
    const { keys, revocations } = this.#issuer.part;
    return {
      issuer: this.issuer,
      tenants: accessTokens.tenants,
      clientId: client.clientId,
      leewayMs: accessTokens.leewayMs,
      keys,
      revocations,
      kinds,
    };
  }

  /** True once the first key set has arrived; later failures of the issuer do not change that. */
  get hasKeys(): boolean {
    return this.#issuer.part.keys.loaded;
  }

  /** True once the first key set has arrived, or could not be fetched. */
  get hasAnswered(): boolean {
    return this.hasKeys || this.#issuer.part.hasFailed;
  }

  /** What is known about it, for the status page. Its name is `null` if it is the only one, which has none. */
  get facts() {
    const { provider, keys, revocations } = this.#issuer.part;
    return {
      name: this.#model.name,
      issuer: this.issuer,
      endpointsKnown: provider.ready,
      keys: keys.size,
      // When the fetch of that set began.
      keysAsOfMs: keys.loaded ? keys.asOfMs : null,
      revocations: revocations.facts,
    };
  }

  /**
   * Starts sending requests to the provider, in the background, unless the previous identity already does.
   *
   * @param onAnswer called with each valid key set and each failure, never before `start` returns
   */
  start(onAnswer: () => void): void {
    if (this.#isIssuerNew) this.#issuer.part.start(onAnswer);
  }

  /** Puts this provider into use: its settings now apply to the parts shared with the previous identity. */
  serve(): void {
    const { notBeforeS, accessTokens } = this.#model;
    this.#issuer.part.revocations.use({
      notBeforeS,
      leewayS: accessTokens.leewayMs / 1_000,
      maxLifetimeS: lifeOf(accessTokens),
    });
    this.#issuer.part.judgeNew = token => this.#judgeNew(token);
    this.opaque?.serve();
    this.#answer(this.#parts.introspection.part, this.#parts.questions.part);
  }

  /** From now on, answers other threads' questions about tokens with each of these that is not `null`. */
  #answer(introspection: Introspection | null, questions: Introspection | null): void {
    this.#issuers.answer(this.#keyOf('introspection'), introspection);
    this.#issuers.answer(this.#keyOf('opaque tokens'), questions);
  }

  #keyOf(about: About): string {
    return `${about} ${issuerKey(this.#model)}`;
  }

  /** A sign-in that hands out a token which this gateway refuses would be repeated again and again, so report it. */
  #judgeNew(accessToken: string): void {
    const tell = (refusal: Invalid | null) =>
      this.#listener.tokenHandedOut(
        refusal === null ? null : { reason: refusal.reason, claim: refusal.claim },
      );
    if (accessToken.length > this.#maxTokenLength) tell(invalid('too_long'));
    else if (this.opaque === null || !isOpaque(accessToken))
      void this.verifier.preview(accessToken).then(verdict => {
        if (verdict !== 'undecided') tell(verdict === 'good' ? null : verdict);
      });
    else
      void this.opaque.preview(accessToken).then(verdict => {
        if (verdict.kind === 'invalid') tell(verdict);
        else if (verdict.kind !== 'unanswered') tell(null);
      });
  }

  /** Stops everything that none of `next` has taken over, except for exchanges in progress. */
  retire(next: readonly ProviderIdentity[]): void {
    if (!next.some(each => each.#issuer === this.#issuer)) {
      this.#issuer.part.retire();
      this.#answer(null, null);
    }
    // Streams keep the verifier of their token.
    if (!next.some(({ verifier }) => verifier === this.verifier)) this.verifier.forget();
    if (!next.some(({ opaque }) => opaque === this.opaque)) this.opaque?.forget();
  }

  stop(): void {
    this.#issuer.part.stop();
  }

  #newVerifier({ clock, listener, budget, ownerChecks }: ProviderIdentityDependencies): Verifier {
    const { keys, revocations } = this.#issuer.part;
    const { accessTokens, cache } = this.#model;
    return new Verifier(accessTokens, cache, { keys, revocations, budget, ownerChecks, clock, listener });
  }

  /** Asks the provider whether a verified token is still valid. Returns `null` if it cannot be asked, which the checks report. */
  introspect(token: string, maxAgeMs: number, address: string): ReturnType<Introspection['ask']> | null {
    return this.#parts.introspection.part?.ask(token, maxAgeMs, address) ?? null;
  }

  /** @param about what its questions are about: those about opaque tokens have their own limit, since anyone can cause them */
  #newIntrospection(
    { clock, listener, permits, issuers }: ProviderIdentityDependencies,
    about: About,
  ): Introspection | null {
    const { introspection } = this.#model;
    if (introspection === null) return null;
    return new Introspection(introspection, {
      provider: this.#issuer.part.provider,
      clock,
      listener,
      permits: permits(`${about} at ${this.issuer}`),
      elsewhere: issuers.fetches ? null : asked => issuers.ask(this.#keyOf(about), asked),
    });
  }

  #newOpaque(
    questions: Introspection | null,
    { clock, listener, budget }: ProviderIdentityDependencies,
    before: OpaqueVerifier | null,
  ): OpaqueVerifier | null {
    const { accessTokens, cache, opaqueTokens } = this.#model;
    if (opaqueTokens === null || questions === null) return null;
    const parts = {
      ask: (token: string, address: string | null, maxAgeMs: number) =>
        questions.question(token, address, maxAgeMs),
      revocations: this.#issuer.part.revocations,
      budget,
      clock,
      listener,
    };
    return new OpaqueVerifier(accessTokens, opaqueTokens.cacheMs, cache, parts, before);
  }

  #newSignIn({ clock, listener, permits }: ProviderIdentityDependencies): SignIn | null {
    if (this.#model.signIn === null) return null;
    const issuer = this.#issuer.part;
    const { provider, revocations } = issuer;
    const handedOut = (accessToken: string) => issuer.judgeNew(accessToken);
    const { tenants } = this.#model.accessTokens;
    const learnedMark = ({ issuer: named, subject, notBefore }: LearntMark) => {
      if (tenants === null) revocations.learnPolicy(subject, notBefore);
      else if (named !== null && tenantIn(named, tenants) !== null)
        revocations.learnPolicy(ofTenant(named, subject), notBefore);
    };
    return new SignIn(this.#model.signIn, {
      provider,
      clock,
      listener,
      learnedMark,
      handedOut,
      permits: permits(`sign-in at ${this.issuer}`),
    });
  }
}

function lifeOf({ maxLifetimeMs }: AccessTokenOptions): number | null {
  return maxLifetimeMs === null ? null : maxLifetimeMs / 1_000;
}
