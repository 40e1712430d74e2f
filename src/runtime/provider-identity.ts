import { isDeepStrictEqual } from 'node:util';
import {
  type AccessTokenOptions,
  type IssuerRevocations,
  type NoticeIssuer,
  type RevocationFacts,
  type TracingRoom,
  type VerificationBudget,
  Verifier,
} from '../auth/index.ts';
import { noticesIn, type ProviderModel } from '../config/index.ts';
import { Introspection, SignIn } from '../signin/index.ts';
import { Issuer, type IssuerDependencies } from './issuer.ts';

/** The state of a provider, for the status page. */
export interface ProviderStatus {
  /** Null: it has none, since there is only one. */
  readonly name: string | null;
  readonly issuer: string;
  readonly endpointsKnown: boolean;
  /** Usable keys of the current set; 0 before the first. */
  readonly keys: number;
  /** When the fetch of that set began, in milliseconds since the epoch; null before the first. */
  readonly keysAsOfMs: number | null;
  readonly revocations: RevocationFacts;
}

export interface ProviderDependencies extends IssuerDependencies {
  /** Null: failed verifications are not limited. */
  readonly budget: VerificationBudget | null;
  readonly tracing: TracingRoom;
}

/**
 * Verifies the tokens of one provider, and signs users in there: its endpoints, its keys, and what was learnt from both. That of
 * the next configuration takes over what still fits.
 */
export class ProviderIdentity {
  readonly verifier: Verifier;
  /** Null: nobody signs in there. */
  readonly signIn: SignIn | null;
  readonly #introspection: Introspection | null;
  readonly #model: ProviderModel;
  readonly #issuer: Issuer;
  readonly #budget: VerificationBudget | null;
  readonly #isIssuerNew: boolean;

  /** Leaves `before` unchanged. Throws if the options make no sense. */
  constructor(model: ProviderModel, dependencies: ProviderDependencies, before: ProviderIdentity | null) {
    const issuer = before === null ? null : before.#issuer;
    this.#model = model;
    this.#budget = dependencies.budget;
    this.#issuer = Issuer.of(model, dependencies, issuer);
    this.#isIssuerNew = this.#issuer !== issuer;
    const kin = this.#isIssuerNew ? null : before;
    this.verifier = this.#knownVerifier(kin) ?? this.#newVerifier(dependencies);
    this.#introspection = this.#knownIntrospection(kin) ?? this.#newIntrospection(dependencies);
    this.signIn = this.#knownSignIn(kin) ?? this.#newSignIn(dependencies);
  }

  get issuer(): string {
    return this.#model.provider.issuer;
  }

  /** Which of its tokens are revoked. */
  get revocations(): IssuerRevocations {
    return this.#issuer.revocations;
  }

  /** What its notices are judged by; null: none is taken. */
  get noticeIssuer(): NoticeIssuer | null {
    const { client, accessTokens, notices } = this.#model;
    const kinds = new Set(noticesIn(notices));
    if (client === null || kinds.size === 0) return null;
    const { keys, revocations } = this.#issuer;
    return {
      issuer: this.issuer,
      clientId: client.clientId,
      leewayMs: accessTokens.leewayMs,
      keys,
      revocations,
      kinds,
    };
  }

  /** True once the first key set has come; later failures of the issuer do not change that. */
  get hasKeys(): boolean {
    return this.#issuer.keys.loaded;
  }

  /** True once the first key set has come, or could not be had. */
  get hasAnswered(): boolean {
    return this.hasKeys || this.#issuer.hasFailed;
  }

  get facts(): ProviderStatus {
    const { provider, keys, revocations } = this.#issuer;
    return {
      name: this.#model.name,
      issuer: this.issuer,
      endpointsKnown: provider.ready,
      keys: keys.size,
      keysAsOfMs: keys.loaded ? keys.asOfMs : null,
      revocations: revocations.facts,
    };
  }

  /**
   * Starts asking the provider, in the background, unless the previous identity does so already.
   *
   * @param onAnswer called with each valid key set and each failure, never before this returns
   */
  start(onAnswer: () => void): void {
    if (this.#isIssuerNew) this.#issuer.start(onAnswer);
  }

  /** Serves from now on: its numbers apply to what it shares with the previous identity. */
  serve(): void {
    const { notBeforeS, accessTokens } = this.#model;
    this.#issuer.revocations.use({
      notBeforeS,
      leewayS: accessTokens.leewayMs / 1_000,
      maxLifetimeS: lifeOf(accessTokens),
    });
  }

  /** Ends what none of `next` has taken over, except for exchanges under way. */
  retire(next: readonly ProviderIdentity[]): void {
    if (!next.some(each => each.#issuer === this.#issuer)) this.#issuer.retire();
  }

  stop(): void {
    this.#issuer.stop();
  }

  /** The previous verifier with the tokens it has verified, if no rule that judges them has changed. */
  #knownVerifier(kin: ProviderIdentity | null): Verifier | null {
    if (kin === null || this.#budget !== kin.#budget) return null;
    const rules = ({ accessTokens, cache }: ProviderModel) => [accessTokens, cache];
    return isDeepStrictEqual(rules(kin.#model), rules(this.#model)) ? kin.verifier : null;
  }

  #newVerifier({ clock, listener, tracing }: ProviderDependencies): Verifier {
    const { keys, revocations } = this.#issuer;
    const { accessTokens, cache } = this.#model;
    const budget = this.#budget;
    return new Verifier(accessTokens, cache, { keys, revocations, budget, tracing, clock, listener });
  }

  /** Whether the provider still holds a verified token valid. Null: it cannot be asked, which the checks report. */
  introspect(token: string, maxAgeMs: number, address: string): ReturnType<Introspection['ask']> | null {
    return this.#introspection === null ? null : this.#introspection.ask(token, maxAgeMs, address);
  }

  /** The previous one with what it has learnt. */
  #knownIntrospection(kin: ProviderIdentity | null): Introspection | null {
    const isSame = kin !== null && isDeepStrictEqual(kin.#model.introspection, this.#model.introspection);
    return isSame ? kin.#introspection : null;
  }

  #newIntrospection({ clock, listener }: ProviderDependencies): Introspection | null {
    const { introspection } = this.#model;
    if (introspection === null) return null;
    return new Introspection(introspection, { provider: this.#issuer.provider, clock, listener });
  }

  #knownSignIn(kin: ProviderIdentity | null): SignIn | null {
    return kin !== null && isDeepStrictEqual(kin.#model.signIn, this.#model.signIn) ? kin.signIn : null;
  }

  #newSignIn({ clock, listener }: ProviderDependencies): SignIn | null {
    if (this.#model.signIn === null) return null;
    const { provider, revocations } = this.#issuer;
    const learnedMark = (subject: string, notBefore: number) => revocations.learnPolicy(subject, notBefore);
    return new SignIn(this.#model.signIn, { provider, clock, listener, learnedMark });
  }
}

function lifeOf({ maxLifetimeMs }: AccessTokenOptions): number | null {
  return maxLifetimeMs === null ? null : maxLifetimeMs / 1_000;
}
