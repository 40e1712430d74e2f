import type { ProviderModel } from '../../config/index.ts';
import type { AuthListener, FlawedKey, Kept, SignInListener, System } from '../../core/index.ts';
import { isSame, reuse } from '../../core/index.ts';
import { type IssuerRevocations, KeySet, type Revocations } from '../../identity/auth/index.ts';
import { Provider, type ProviderOptions } from '../../identity/signin/index.ts';
import { type IssuerState, issuerKey, type SharedIssuers } from './issuer-sharing.ts';

export interface IssuerDependencies extends Pick<System, 'clock' | 'random' | 'network'> {
  readonly listener: AuthListener & SignInListener;
  readonly revocations: Revocations;
  /** How this thread shares what it learns with others. */
  readonly issuers: SharedIssuers;
}

export type KeptIssuer = Kept<Pick<ProviderModel, 'provider' | 'keySet' | 'label'>, Issuer>;

/** The provider as the issuer of tokens: its endpoints, its keys, and its revoked tokens. */
export class Issuer {
  readonly provider: Provider;
  readonly keys: KeySet;
  readonly revocations: IssuerRevocations;
  /** Checks the access tokens that sign-ins hand out by the current rules. */
  judgeNew: (accessToken: string) => void = () => {};
  #hasFailed = false;
  #onAnswer: () => void = () => {};
  /** Identifies this issuer for other threads. */
  readonly #key: string;
  readonly #issuers: SharedIssuers;
  /** Ends its connection to other threads. */
  readonly #part: () => void;

  /** @param before the previous one, if it is the same issuer: its knowledge is used until it is refreshed */
  private constructor(model: ProviderModel, dependencies: IssuerDependencies, before: Issuer | null) {
    const { clock, random, network, listener, issuers } = dependencies;
    this.revocations = dependencies.revocations.of(model.provider.issuer);
    this.#issuers = issuers;
    this.#key = issuerKey(model);
    const failed = () => {
      this.#hasFailed = true;
      this.#answered();
    };
    this.provider = new Provider(model.provider, {
      listener: {
        discovered: event => {
          listener.discovered(event);
          if (event.outcome === 'failed') failed();
          else if (event.outcome === 'learnt') this.#tell();
        },
      },
      clock,
      random,
      network,
      known: before?.provider.metadata,
      // Fetches the keys as soon as their URL is known, unless another thread does.
      changed: () => {
        if (issuers.fetches) void this.keys.refresh();
      },
    });
    const heard = {
      keySetLoaded: (usable: number, unusable: number, flawed: readonly FlawedKey[]) => {
        listener.keySetLoaded(usable, unusable, flawed);
        this.#answered();
      },
      keySetFailed: (cause: unknown) => {
        listener.keySetFailed(cause);
        failed();
      },
    };
    const fetch = (signal: AbortSignal) => this.provider.fetchKeySet(signal);
    const ask = issuers.fetches ? undefined : () => issuers.refresh(this.#key);
    this.keys = new KeySet(model.keySet, { fetch, ask, clock, random, listener: heard }, before?.keys);
    this.#part = issuers.fetches
      ? issuers.serve(this.#key, () => this.#refreshForOther())
      : issuers.states.follow(this.#key, state => this.#learn(state));
  }

  /** Keeps the previous one if nothing about it has changed. */
  static of(model: ProviderModel, dependencies: IssuerDependencies, before: KeptIssuer | null): KeptIssuer {
    const { provider, keySet, label } = model;
    const known = before !== null && isSameIssuer(before.key.provider, provider) ? before.part : null;
    return reuse(before, { provider, keySet, label }, () => new Issuer(model, dependencies, known));
  }

  /** Whether its endpoints or keys could not be fetched at least once. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /**
   * Starts sending requests to the provider, in the background. Called once.
   *
   * @param onAnswer called with each valid key set and each failure, never before `start` returns
   */
  start(onAnswer: () => void): void {
    this.#onAnswer = onAnswer;
    if (!this.#issuers.fetches) return;
    this.#tell();
    this.provider.start();
    // Refreshes keys taken over from the previous one, with this one's options.
    if (this.keys.loaded) void this.keys.refresh();
  }

  retire(): void {
    this.#onAnswer = () => {};
    this.#part();
    this.provider.stop();
    this.keys.retire();
  }

  stop(): void {
    this.#part();
    this.provider.stop();
    this.keys.close();
  }

  #answered(): void {
    this.#tell();
    this.#onAnswer();
  }

  #tell(): void {
    if (!this.#issuers.fetches) return;
    this.#issuers.states.tell(this.#key, {
      metadata: this.provider.metadata ?? null,
      keySet: this.keys.fetched,
      hasFailed: this.#hasFailed,
      cooldownMs: this.keys.cooldownMs(),
    });
  }

  /** Takes over the state from another thread. */
  #learn(state: IssuerState | null): void {
    if (state === null) return;
    const { metadata, keySet, hasFailed, cooldownMs } = state;
    if (metadata !== null) this.provider.learn(metadata);
    this.keys.follow(keySet, cooldownMs);
    this.#hasFailed ||= hasFailed;
    this.#onAnswer();
  }

  /**
   * Fetches the keys for another thread, unless they are cooling down. Also resolves to false if the fetch had begun before the
   * other thread asked: the set may lack a newer key.
   */
  async #refreshForOther(): Promise<boolean> {
    const { fetching } = this.keys;
    if (!fetching && this.keys.cooldownMs() > 0) return false;
    return (await this.keys.refresh()) && !fetching;
  }
}

/** Whether both have the same URLs, so that endpoints and keys learnt by one are valid for the other. */
function isSameIssuer(one: ProviderOptions, other: ProviderOptions): boolean {
  const places = ({ issuer, discoveryUrl, endpoints }: ProviderOptions) => [issuer, discoveryUrl, endpoints];
  return isSame(places(one), places(other));
}
