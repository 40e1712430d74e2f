import { isDeepStrictEqual } from 'node:util';
import type { SignInListener, System, Timer } from '../../core/index.ts';
import type { ProviderOptions } from '../options.ts';
import { getDocument, refreshDelayMs, retryDelayMs } from './ask.ts';
import { ProviderFault } from './fault.ts';
import { configuredMetadata, discover, type ProviderMetadata } from './metadata.ts';

export interface ProviderDependencies extends Pick<System, 'clock' | 'random' | 'network'> {
  readonly listener: Pick<SignInListener, 'discovered'>;
  /** Called when the metadata is first known and whenever it changes. */
  readonly changed?: (metadata: ProviderMetadata) => void;
  /** Metadata of the same issuer learnt before a reload, used until the first good response. Default: none. */
  readonly known?: ProviderMetadata | undefined;
  /** Fetches the metadata; default: from the discovery document. Rejects with a `ProviderFault`. */
  readonly discover?: (
    options: ProviderOptions,
    system: Pick<System, 'clock' | 'network'>,
  ) => Promise<ProviderMetadata>;
}

/**
 * Learns the provider's endpoints and remembers them while the provider is away. Asks in the background until the first
 * good response and periodically afterwards; a failed attempt changes nothing but the time of the next.
 *
 * Outlives a reload that does not change its options. Call `start` and `stop` once each.
 */
export class Provider {
  readonly options: ProviderOptions;
  readonly #parts: ProviderDependencies;
  #metadata: ProviderMetadata | undefined;
  #failures = 0;
  #stopped = false;
  #timer: Timer | null = null;

  constructor(options: ProviderOptions, parts: ProviderDependencies) {
    this.options = options;
    this.#parts = parts;
    this.#metadata = parts.known;
  }

  /** The last good metadata; undefined until there is any. */
  get metadata(): ProviderMetadata | undefined {
    return this.#metadata;
  }

  /** What its clients reach it by. */
  get system(): Pick<System, 'clock' | 'network'> {
    return this.#parts;
  }

  /** Whether the endpoints are known. Stays true once it is. */
  get ready(): boolean {
    return this.#metadata !== undefined;
  }

  /** The JSON of the key set that signs its tokens. Rejects with a `ProviderFault`. */
  async fetchKeySet(deadline: AbortSignal): Promise<Buffer> {
    if (this.#metadata === undefined)
      throw new ProviderFault('unreachable', 'the endpoints are not known yet');
    return getDocument(this.#metadata.keySetUrl, this.options, deadline, this.#parts.network);
  }

  /** Starts asking. If the options name every endpoint, they are known when this returns. */
  start(): void {
    const configured = configuredMetadata(this.options);
    if (configured === undefined) void this.#attempt();
    else this.#learn(configured);
  }

  /** Stops asking. The metadata stays, because requests in flight still need it. */
  stop(): void {
    this.#stopped = true;
    this.#parts.clock.cancel(this.#timer);
  }

  async #attempt(): Promise<void> {
    const found = await this.#discover();
    if (this.#stopped) return;
    const cause = found instanceof ProviderFault ? found : null;
    this.#failures = cause === null ? 0 : this.#failures + 1;
    const learnt = !(found instanceof ProviderFault) && this.#learn(found);
    const nextMs = this.#waitMs();
    this.#timer = this.#parts.clock.after(nextMs, () => void this.#attempt());
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
      return await (this.#parts.discover ?? discover)(this.options, this.#parts);
    } catch (error) {
      // Any other error may hold bytes of the response: see `ProviderFault`.
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

  /** Keeps the same object while nothing changes, so that values derived from it stay valid. */
  #learn(metadata: ProviderMetadata): boolean {
    if (isDeepStrictEqual(this.#metadata, metadata)) return false;
    this.#metadata = metadata;
    this.#parts.changed?.(metadata);
    return true;
  }
}
