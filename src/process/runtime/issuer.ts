import { isDeepStrictEqual } from 'node:util';
import type { ProviderModel } from '../../config/index.ts';
import type { AuthListener, FlawedKey, SignInListener, System } from '../../core/index.ts';
import { type IssuerRevocations, KeySet, type Revocations } from '../../identity/auth/index.ts';
import { Provider, type ProviderOptions } from '../../identity/signin/index.ts';
import { type IssuerSharing, type IssuerState, issuerKey } from './issuer-sharing.ts';

export interface IssuerDependencies extends Pick<System, 'clock' | 'random' | 'network'> {
  readonly listener: AuthListener & SignInListener;
  /** The revocations of all issuers. */
  readonly revocations: Revocations;
  /** How this thread shares what it learns with others. Default: there are no others. */
  readonly issuers?: IssuerSharing | undefined;
}

/** The provider as the issuer of tokens: its endpoints, its keys, and its revoked tokens. */
export class Issuer {
  readonly provider: Provider;
  readonly keys: KeySet;
  readonly revocations: IssuerRevocations;
  /** Judges the access tokens that sign-ins hand out, by the rules in use. */
  judgeNew: (accessToken: string) => void = () => {};
  readonly #model: ProviderModel;
  #hasFailed = false;
  #onAnswer: () => void = () => {};
  /** Identifies it for other threads. */
  readonly #key: string;
  readonly #sharing: IssuerSharing | null;
  /** Ends its connection to other threads. */
  readonly #part: () => void;

  /** @param before the previous one, if it is the same issuer: its knowledge is used until it is refreshed */
  private constructor(model: ProviderModel, dependencies: IssuerDependencies, before: Issuer | null) {
    const { clock, random, network, listener, issuers } = dependencies;
    this.#model = model;
    this.revocations = dependencies.revocations.of(model.provider.issuer);
    this.#sharing = issuers ?? null;
    this.#key = issuers === undefined ? '' : issuerKey(model);
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
        if (issuers?.role !== 'learns') void this.keys.refresh();
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
    const ask = issuers?.role === 'learns' ? () => issuers.refresh(this.#key) : undefined;
    this.keys = new KeySet(model.keySet, { fetch, ask, clock, random, listener: heard }, before?.keys);
    this.#part = this.#join(issuers);
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
   * Starts sending requests to the provider, in the background. Called once.
   *
   * @param onAnswer called with each valid key set and each failure, never before `start` returns
   */
  start(onAnswer: () => void): void {
    this.#onAnswer = onAnswer;
    if (this.#sharing?.role === 'learns') return;
    this.#tell();
    this.provider.start();
    // Refreshes keys taken over from the previous one, with this one's options.
    if (this.keys.loaded) void this.keys.refresh();
  }

  /** Stops refreshing. Exchanges in progress may still use it. */
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

  #join(issuers: IssuerSharing | undefined): () => void {
    if (issuers === undefined) return () => {};
    return issuers.role === 'tells'
      ? issuers.serve(this.#key, () => this.#refreshForOther())
      : issuers.follow(this.#key, state => this.#learn(state));
  }

  #answered(): void {
    this.#tell();
    this.#onAnswer();
  }

  /** Publishes the current state to other threads. */
  #tell(): void {
    if (this.#sharing?.role !== 'tells') return;
    this.#sharing.tell(this.#key, {
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
  return isDeepStrictEqual(places(one), places(other));
}
