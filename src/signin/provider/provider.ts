import type { SignInListener } from '../../core/index.ts';
import type { ProviderOptions } from '../options.ts';
import { refreshDelayMs, retryDelayMs } from './backoff.ts';
import { discover } from './discover.ts';
import { getDocument } from './document.ts';
import { ProviderFault } from './fault.ts';
import { configuredMetadata, type ProviderMetadata } from './metadata.ts';

export interface ProviderDependencies {
  readonly listener: Pick<SignInListener, 'discovered'>;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  /** Called when the metadata is known for the first time, and when it is another than before. */
  readonly changed?: (metadata: ProviderMetadata) => void;
  /** What an earlier one learnt of the same issuer, to be used until it is learnt anew. Default: nothing. */
  readonly known?: ProviderMetadata | undefined;
  /** How the metadata is got; default: the discovery document. Rejects with a `ProviderFault`. */
  readonly discover?: (options: ProviderOptions) => Promise<ProviderMetadata>;
}

/**
 * Knows the provider's endpoints, and keeps knowing them while the provider is away: it asks in the background until
 * the first good answer and now and then afterwards, and a failed attempt changes nothing but the time of the next.
 *
 * It outlives a reload that leaves its options as they are. `start` and `stop` are each called once.
 */
export class Provider {
  readonly options: ProviderOptions;
  readonly #parts: ProviderDependencies;
  #metadata: ProviderMetadata | undefined;
  #failures = 0;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ProviderOptions, parts: ProviderDependencies) {
    this.options = options;
    this.#parts = parts;
    this.#metadata = parts.known;
  }

  /** The last good metadata; undefined until there was any. */
  get metadata(): ProviderMetadata | undefined {
    return this.#metadata;
  }

  /** Whether the endpoints are known: from the first good answer on, for ever. */
  get ready(): boolean {
    return this.#metadata !== undefined;
  }

  /** The keys that sign its tokens, as its JSON says them. Rejects with a `ProviderFault`. */
  async fetchKeySet(deadline: AbortSignal): Promise<Buffer> {
    if (this.#metadata === undefined)
      throw new ProviderFault('unreachable', 'the endpoints are not known yet');
    return getDocument(this.#metadata.keySetUrl, this.options, deadline);
  }

  /** Begins to ask. Where the options name every endpoint, they are known when this returns. */
  start(): void {
    const configured = configuredMetadata(this.options);
    if (configured === undefined) void this.#attempt();
    else this.#learn(configured);
  }

  /** Asks no more. What is known stays known: requests on their way still need it. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #attempt(): Promise<void> {
    const found = await this.#discover();
    if (this.#stopped) return;
    const cause = found instanceof ProviderFault ? found : null;
    this.#failures = cause === null ? 0 : this.#failures + 1;
    const learnt = !(found instanceof ProviderFault) && this.#learn(found);
    const nextMs = this.#waitMs();
    this.#timer = setTimeout(() => void this.#attempt(), nextMs).unref();
    this.#parts.listener.discovered({
      outcome: cause !== null ? 'failed' : learnt ? 'learnt' : 'confirmed',
      failures: this.#failures,
      nextMs,
      ready: this.ready,
      cause,
    });
  }

  async #discover(): Promise<ProviderMetadata | ProviderFault> {
    try {
      return await (this.#parts.discover ?? discover)(this.options);
    } catch (error) {
      // Whatever else is thrown may hold bytes of the answer: see `ProviderFault`.
      return error instanceof ProviderFault
        ? error
        : new ProviderFault('nonsense', 'discovery failed in the gateway');
    }
  }

  #waitMs(): number {
    const random = this.#parts.random();
    return this.#failures === 0
      ? refreshDelayMs(this.options.refreshMs, random)
      : retryDelayMs(this.#failures, random);
  }

  /** The same object is kept while nothing changes, so that whoever computed something from it need not do so again. */
  #learn(metadata: ProviderMetadata): boolean {
    if (this.#metadata !== undefined && same(this.#metadata, metadata)) return false;
    this.#metadata = metadata;
    this.#parts.changed?.(metadata);
    return true;
  }
}

function same(one: ProviderMetadata, other: ProviderMetadata): boolean {
  return (
    one.issuer === other.issuer &&
    one.authorizationEndpoint === other.authorizationEndpoint &&
    one.tokenEndpoint === other.tokenEndpoint &&
    one.keySetUrl === other.keySetUrl
  );
}
