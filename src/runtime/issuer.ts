import { isDeepStrictEqual } from 'node:util';
import { type IssuerRevocations, KeySet, type Revocations } from '../auth/index.ts';
import type { ProviderModel } from '../config/index.ts';
import type { AuthListener, FlawedKey, SignInListener, System } from '../core/index.ts';
import { Provider, type ProviderOptions } from '../signin/index.ts';

export interface IssuerDependencies extends Pick<System, 'clock' | 'random' | 'network'> {
  readonly listener: AuthListener & SignInListener;
  /** The revocations of all issuers. */
  readonly revocations: Revocations;
}

/** The provider as the issuer of tokens: its endpoints, its keys, and which of its tokens are revoked. */
export class Issuer {
  readonly provider: Provider;
  readonly keys: KeySet;
  readonly revocations: IssuerRevocations;
  readonly #model: ProviderModel;
  #hasFailed = false;
  #onAnswer: () => void = () => {};

  /** @param before the previous one, if it is the same issuer: what it knows is used until it is refreshed */
  private constructor(
    model: ProviderModel,
    { clock, random, network, listener, revocations }: IssuerDependencies,
    before: Issuer | null,
  ) {
    this.#model = model;
    this.revocations = revocations.of(model.provider.issuer);
    const failed = () => {
      this.#hasFailed = true;
      this.#onAnswer();
    };
    // Fetches the keys as soon as their URL is known.
    this.provider = new Provider(model.provider, {
      listener: {
        discovered: event => {
          listener.discovered(event);
          if (event.outcome === 'failed') failed();
        },
      },
      clock,
      random,
      network,
      known: before?.provider.metadata,
      changed: () => void this.keys.refresh(),
    });
    const heard = {
      keySetLoaded: (usable: number, unusable: number, flawed: readonly FlawedKey[]) => {
        listener.keySetLoaded(usable, unusable, flawed);
        this.#onAnswer();
      },
      keySetFailed: (cause: unknown) => {
        listener.keySetFailed(cause);
        failed();
      },
    };
    const fetch = (signal: AbortSignal) => this.provider.fetchKeySet(signal);
    this.keys = new KeySet(model.keySet, { fetch, clock, random, listener: heard }, before?.keys);
  }

  /** Returns the previous one if nothing about it has changed, else a new one. */
  static of(model: ProviderModel, dependencies: IssuerDependencies, before: Issuer | null): Issuer {
    if (before === null) return new Issuer(model, dependencies, null);
    const old = before.#model;
    const parts = ({ provider, keySet, label }: ProviderModel) => [provider, keySet, label];
    if (isDeepStrictEqual(parts(old), parts(model))) return before;
    return new Issuer(model, dependencies, isSameIssuer(old.provider, model.provider) ? before : null);
  }

  /** Whether its endpoints or keys could not be fetched at least once. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /**
   * Starts asking the provider, in the background. Called once.
   *
   * @param onAnswer called with each valid key set and each failure, never before this returns
   */
  start(onAnswer: () => void): void {
    this.#onAnswer = onAnswer;
    this.provider.start();
    // Refreshes keys taken over from the previous one, with this one's options.
    if (this.keys.loaded) void this.keys.refresh();
  }

  /** Stops refreshing. Exchanges under way may still use it. */
  retire(): void {
    this.#onAnswer = () => {};
    this.provider.stop();
    this.keys.retire();
  }

  stop(): void {
    this.provider.stop();
    this.keys.close();
  }
}

/** Whether both have the same URLs, so that endpoints and keys learnt by one are valid for the other. */
function isSameIssuer(one: ProviderOptions, other: ProviderOptions): boolean {
  const places = ({ issuer, discoveryUrl, endpoints }: ProviderOptions) => [issuer, discoveryUrl, endpoints];
  return isDeepStrictEqual(places(one), places(other));
}
