import { KeySet, MARK_DEFAULTS, NotBeforeMarks, VerificationBudget, Verifier } from '../auth/index.ts';
import type { IdentityModel } from '../config/index.ts';
import type { AuthListener, Clock, Random, SignInListener } from '../core/index.ts';
import { Provider, SignIn } from '../signin/index.ts';

export interface IdentityParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly listener: AuthListener & SignInListener;
}

/** Knows callers by their tokens and signs users in: the provider, its keys, and what was learnt from both. */
export class Identity {
  readonly verifier: Verifier;
  readonly signIn: SignIn;
  /** What was learnt of tokens that are not to be taken any more. */
  readonly marks: NotBeforeMarks;
  readonly #provider: Provider;
  readonly #keys: KeySet;

  constructor(model: IdentityModel, { clock, random, listener }: IdentityParts) {
    const marks = new NotBeforeMarks(MARK_DEFAULTS, clock, () => listener.markEvicted());
    marks.setIssuerMark(model.notBeforeS);
    this.marks = marks;
    // The keys are fetched as soon as it is known where they are.
    this.#provider = new Provider(model.provider, {
      listener,
      random,
      changed: () => void this.#keys.refresh(),
    });
    this.#keys = new KeySet(model.keySet, {
      fetch: signal => this.#provider.fetchKeySet(signal),
      clock,
      random,
      listener,
    });
    const budget =
      model.failedVerifications === null ? null : new VerificationBudget(model.failedVerifications, clock);
    this.verifier = new Verifier(model.accessTokens, model.cache, {
      keys: this.#keys,
      marks,
      budget,
      clock,
      listener,
    });
    this.signIn = new SignIn(model.signIn, {
      provider: this.#provider,
      clock,
      listener,
      learnedMark: (subject, notBefore) => marks.learn(subject, notBefore),
    });
  }

  /** From the first key set on; an issuer that goes away later takes nothing from the gateway's readiness. */
  get ready(): boolean {
    return this.#keys.loaded;
  }

  /** Begins to ask the provider, in the background. */
  start(): void {
    this.#provider.start();
  }

  stop(): void {
    this.#provider.stop();
    this.#keys.close();
  }
}
