import {
  type Caller,
  IssuerVerifiers,
  NO_SUBJECT,
  Notices,
  type NoticesDependencies,
  type Revocations,
  type TokenVerifier,
  TracingRoom,
  VerificationBudget,
} from '../auth/index.ts';
import { type IdentityModel, NOTICE_KINDS } from '../config/index.ts';
import type { AuthListener, Clock, NoticeKind, Random, SignInListener } from '../core/index.ts';
import type { Introspection, SignIn } from '../signin/index.ts';
import { ProviderIdentity, type ProviderStatus } from './provider-identity.ts';

export interface IdentityDependencies {
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Returns the listener for a provider, by its name in metrics and logs, or for tokens of none (`none`). Null: the only
   * provider, which metrics and logs do not name.
   */
  readonly listenerOf: (provider: string | null) => AuthListener & SignInListener;
  /** Of every issuer. */
  readonly revocations: Revocations;
  /** For what providers tell unasked. */
  readonly notices: NoticesDependencies;
}

/** Identifies callers by their tokens and signs users in, at one provider or at several. */
export class Identity {
  readonly verifier: TokenVerifier;
  /** Null: users sign in nowhere. */
  readonly signIn: SignIn | null;
  /** What the providers tell unasked. */
  readonly notices: Notices;
  readonly #model: IdentityModel;
  readonly #providers: readonly ProviderIdentity[];
  readonly #budget: VerificationBudget | null;
  readonly #tracing: TracingRoom;

  /** Leaves `before` unchanged. Throws if the options make no sense. */
  constructor(model: IdentityModel, dependencies: IdentityDependencies, before: Identity | null = null) {
    const { listenerOf, ...shared } = dependencies;
    const budget = budgetOf(model, dependencies, before === null ? null : before.#budget);
    const known = before === null ? [] : before.#providers;
    this.#model = model;
    this.#budget = budget;
    this.#tracing = before === null ? new TracingRoom(dependencies.clock) : before.#tracing;
    this.#providers = model.providers.map(each => {
      const old = known.find(({ issuer }) => issuer === each.provider.issuer) ?? null;
      const own = { ...shared, budget, tracing: this.#tracing, listener: listenerOf(each.label) };
      return new ProviderIdentity(each, own, old);
    });
    this.verifier = this.#verifierAfter(before, dependencies);
    this.signIn = this.#providers.find(({ signIn }) => signIn !== null)?.signIn ?? null;
    const issuers = this.#providers.map(({ noticeIssuer }) => noticeIssuer);
    this.notices = new Notices(
      issuers.filter(issuer => issuer !== null),
      dependencies.notices,
    );
  }

  /** Refuses the tokens of the caller's session from now on. */
  endSession({ issuer, session, subject, issuedAtS }: Caller): void {
    const provider = this.#providers.find(each => each.issuer === issuer);
    provider?.revocations.endSession(session, issuedAtS, subject ?? NO_SUBJECT);
  }

  /** Whether the provider of this caller still holds its token valid: see `Introspection.ask`. */
  introspect(
    { issuer }: Caller,
    token: string,
    maxAgeMs: number,
    address: string,
  ): ReturnType<Introspection['ask']> {
    const provider = this.#providers.find(each => each.issuer === issuer);
    const answer = provider?.introspect(token, maxAgeMs, address) ?? null;
    if (answer === null) throw new Error('introspection was not checked: a provider cannot be asked');
    return answer;
  }

  /**
   * True once each provider has sent its keys or failed to, and one has sent them. A provider that is away must not keep the
   * others' callers out; one that takes a moment longer than the others must not lose its own. Never becomes false again.
   */
  get ready(): boolean {
    return (
      this.#providers.every(({ hasAnswered }) => hasAnswered) &&
      this.#providers.some(({ hasKeys }) => hasKeys)
    );
  }

  /** In the order of the file. */
  get facts(): readonly ProviderStatus[] {
    return this.#providers.map(({ facts }) => facts);
  }

  /**
   * Starts asking the providers, in the background, unless the previous identity does so already.
   *
   * @param onReady called whenever a provider has answered and this is ready, never before it returns
   */
  start(onReady: () => void = () => {}): void {
    for (const provider of this.#providers) {
      provider.start(() => {
        if (this.ready) onReady();
      });
    }
  }

  /** Serves from now on: its numbers apply to what it shares with the previous identity. */
  serve(): void {
    for (const provider of this.#providers) provider.serve();
    if (this.#model.failedVerifications !== null) this.#budget?.use(this.#model.failedVerifications);
  }

  /** Ends what `next` has not taken over, except for exchanges under way. */
  retire(next: Identity | null): void {
    for (const provider of this.#providers) provider.retire(next === null ? [] : next.#providers);
  }

  /** The kinds of notices that are taken on the admin listener. */
  get adminNotices(): ReadonlySet<NoticeKind> {
    const isAdmin = (kind: NoticeKind) =>
      this.#model.providers.some(({ notices }) => notices[kind] === 'admin');
    return new Set(NOTICE_KINDS.filter(isAdmin));
  }

  stop(): void {
    for (const provider of this.#providers) provider.stop();
  }

  /** The same object while nothing changes: what connections remember of their tokens depends on it. */
  #verifierAfter(before: Identity | null, { listenerOf }: IdentityDependencies): TokenVerifier {
    const verifiers = this.#providers.map(({ verifier }) => verifier);
    const [only, ...others] = verifiers;
    if (only !== undefined && others.length === 0) return only;
    const old = before === null ? [] : before.#providers.map(({ verifier }) => verifier);
    const isSame =
      old.length === verifiers.length && old.every((verifier, index) => verifier === verifiers[index]);
    return before !== null && isSame ? before.verifier : new IssuerVerifiers(verifiers, listenerOf('none'));
  }
}

/** Budgets belong to addresses, not to an issuer, so counts survive a change of providers. */
function budgetOf(
  { failedVerifications }: IdentityModel,
  { clock }: IdentityDependencies,
  before: VerificationBudget | null,
): VerificationBudget | null {
  return failedVerifications === null ? null : (before ?? new VerificationBudget(failedVerifications, clock));
}
