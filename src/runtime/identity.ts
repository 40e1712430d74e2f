import { isDeepStrictEqual } from 'node:util';
import { type IssuerRevocations, type RevocationFacts, VerificationBudget, Verifier } from '../auth/index.ts';
import type { IdentityModel } from '../config/index.ts';
import { SignIn } from '../signin/index.ts';
import { type IdentityDependencies, Issuer } from './issuer.ts';

/** The state of a provider, for the status page. */
export interface ProviderStatus {
  readonly issuer: string;
  readonly endpointsKnown: boolean;
  /** Usable keys of the current set; 0 before the first. */
  readonly keys: number;
  /** When the fetch of that set began, in milliseconds since the epoch; null before the first. */
  readonly keysAsOfMs: number | null;
  readonly revocations: RevocationFacts;
}

/**
 * Identifies callers by their tokens and signs users in: the provider, its keys, and what was learnt from both. The identity
 * of the next configuration takes over what still fits.
 */
export class Identity {
  readonly verifier: Verifier;
  readonly signIn: SignIn;
  readonly #model: IdentityModel;
  readonly #issuer: Issuer;
  readonly #budget: VerificationBudget | null;
  readonly #isIssuerNew: boolean;

  /** Leaves `before` unchanged. Throws if the options make no sense. */
  constructor(model: IdentityModel, dependencies: IdentityDependencies, before: Identity | null = null) {
    const [issuer, budget] = before === null ? [null, null] : [before.#issuer, before.#budget];
    this.#model = model;
    this.#issuer = Issuer.of(model, dependencies, issuer);
    this.#isIssuerNew = this.#issuer !== issuer;
    this.#budget = budgetOf(model, dependencies, budget);
    const kin = this.#isIssuerNew ? null : before;
    this.verifier = this.#knownVerifier(kin) ?? this.#newVerifier(dependencies);
    this.signIn = this.#knownSignIn(kin) ?? this.#newSignIn(dependencies);
  }

  /** Which tokens are revoked. */
  get revocations(): IssuerRevocations {
    return this.#issuer.revocations;
  }

  /** True once the first key set has come; later failures of the issuer do not make the gateway unready. */
  get ready(): boolean {
    return this.#issuer.keys.loaded;
  }

  get facts(): ProviderStatus {
    const { provider, keys, revocations } = this.#issuer;
    return {
      issuer: this.#model.provider.issuer,
      endpointsKnown: provider.ready,
      keys: keys.size,
      keysAsOfMs: keys.loaded ? keys.asOfMs : null,
      revocations: revocations.facts,
    };
  }

  /**
   * Starts asking the provider, in the background, unless the previous identity does so already.
   *
   * @param onKeys called with each valid key set, never before this returns
   */
  start(onKeys: () => void = () => {}): void {
    if (this.#isIssuerNew) this.#issuer.start(onKeys);
  }

  /** Serves from now on: its numbers apply to what it shares with the previous identity. */
  serve(): void {
    const { notBeforeS, accessTokens } = this.#model;
    this.#issuer.revocations.use({ notBeforeS, leewayS: accessTokens.leewayMs / 1_000, maxLifetimeS: null });
    if (this.#model.failedVerifications !== null) this.#budget?.use(this.#model.failedVerifications);
  }

  /** Ends what `next` has not taken over, except for exchanges under way. */
  retire(next: Identity | null): void {
    if (next === null || this.#issuer !== next.#issuer) this.#issuer.retire();
  }

  stop(): void {
    this.#issuer.stop();
  }

  /** The previous verifier with the tokens it has verified, if no rule that judges them has changed. */
  #knownVerifier(kin: Identity | null): Verifier | null {
    if (kin === null || this.#budget !== kin.#budget) return null;
    const rules = ({ accessTokens, cache }: IdentityModel) => [accessTokens, cache];
    return isDeepStrictEqual(rules(kin.#model), rules(this.#model)) ? kin.verifier : null;
  }

  #newVerifier({ clock, listener }: IdentityDependencies): Verifier {
    const { keys, revocations } = this.#issuer;
    const { accessTokens, cache } = this.#model;
    return new Verifier(accessTokens, cache, { keys, revocations, budget: this.#budget, clock, listener });
  }

  #knownSignIn(kin: Identity | null): SignIn | null {
    return kin !== null && isDeepStrictEqual(kin.#model.signIn, this.#model.signIn) ? kin.signIn : null;
  }

  #newSignIn({ clock, listener }: IdentityDependencies): SignIn {
    const { provider, revocations } = this.#issuer;
    const learnedMark = (subject: string, notBefore: number) => revocations.revokeSubject(subject, notBefore);
    return new SignIn(this.#model.signIn, { provider, clock, listener, learnedMark });
  }
}

/** Budgets belong to addresses, not to an issuer, so counts survive a change of provider. */
function budgetOf(
  { failedVerifications }: IdentityModel,
  { clock }: IdentityDependencies,
  before: VerificationBudget | null,
): VerificationBudget | null {
  return failedVerifications === null ? null : (before ?? new VerificationBudget(failedVerifications, clock));
}
