import type { AuthListener, Clock } from '../core/index.ts';
import type { KeySetOptions } from './options.ts';
import { type Algorithm, KeySetError, readKeySet, type VerificationKey } from './token/index.ts';

/** Gets the issuer's key set; rejects when it cannot. It should give up when the signal says so. */
export type KeySetFetcher = (signal: AbortSignal) => Promise<Uint8Array | string>;

export interface KeySetDependencies {
  readonly fetch: KeySetFetcher;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly listener: Pick<AuthListener, 'keySetLoaded' | 'keySetFailed'>;
}

/** After failed fetches the next is tried after the cooldown, then twice and four times that. */
const MAX_RETRY_DOUBLINGS = 2;

/** A token without `kid` is checked with at most so many keys. */
const MAX_CANDIDATES = 4;

/**
 * The issuer's keys. They are fetched in the background; when that fails, the last good set stays in use for as long as it
 * takes, since keys do not go bad because the issuer is away. All fetches, whoever asked, are one at a time.
 */
export class KeySet {
  readonly #options: KeySetOptions;
  readonly #dependencies: KeySetDependencies;
  #keys: readonly VerificationKey[] = [];
  #held: ReadonlySet<VerificationKey> = new Set();
  #byId: ReadonlyMap<string, readonly VerificationKey[]> = new Map();
  #version = 0;
  #asOfMs = Number.NEGATIVE_INFINITY;
  #cooledDownAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #flight: Promise<boolean> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #abort = new AbortController();
  #retired = false;
  #closed = false;

  /** @param before keys of the same issuer that are known already: they are used until the first fetch is good */
  constructor(options: KeySetOptions, dependencies: KeySetDependencies, before: KeySet | null = null) {
    this.#options = options;
    this.#dependencies = dependencies;
    if (before?.loaded !== true) return;
    this.#replace(before.#keys, before.#asOfMs);
    // Counted on, since refusals are remembered by it.
    this.#version = before.#version;
  }

  /** Whether a key set was ever loaded: the gateway is not ready before. */
  get loaded(): boolean {
    return this.#version > 0;
  }

  /** Counts the sets loaded. A change may turn a bad signature into a good one. */
  get version(): number {
    return this.#version;
  }

  /** When the fetch of the present set began, since the epoch: keys younger than that may be missing in it. */
  get asOfMs(): number {
    return this.#asOfMs;
  }

  /** Keys in the present set. */
  get size(): number {
    return this.#keys.length;
  }

  get fetching(): boolean {
    return this.#flight !== null;
  }

  /** How long no unknown key causes a fetch; 0: one may begin. */
  cooldownMs(): number {
    return Math.max(0, this.#cooledDownAtMs - this.#dependencies.clock.monotonicMs());
  }

  /** Whether this key is in the present set. */
  holds(key: VerificationKey): boolean {
    return this.#held.has(key);
  }

  /** Whether a key of that name is in the present set, whatever its type. */
  knows(keyId: string): boolean {
    return this.#byId.has(keyId);
  }

  /** The keys that may have made such a signature: those of that name, or where the token names none, all that fit. */
  candidates(algorithm: Algorithm, keyId: string | null): readonly VerificationKey[] {
    const keys = keyId === null ? this.#keys : (this.#byId.get(keyId) ?? []);
    return keys.filter(key => key.algorithms.includes(algorithm)).slice(0, MAX_CANDIDATES);
  }

  /**
   * Fetches the keys, or joins the fetch that is under way, and plans the next one. Call it once at start.
   *
   * @returns whether a good set came; never rejects
   */
  refresh(): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    this.#flight ??= this.#load().then(good => {
      this.#flight = null;
      this.#failures = good ? 0 : this.#failures + 1;
      this.#cooledDownAtMs = this.#dependencies.clock.monotonicMs() + this.#options.cooldownMs;
      this.#planNext();
      return good;
    });
    return this.#flight;
  }

  /** Another set takes its place: it fetches only what exchanges under way still ask for. */
  retire(): void {
    this.#retired = true;
    clearTimeout(this.#timer);
  }

  /** Fetches no more. The keys held stay usable. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#abort.abort(new KeySetError('the gateway no longer needs the keys'));
  }

  async #load(): Promise<boolean> {
    const { clock, listener } = this.#dependencies;
    const asOfMs = clock.epochMs();
    try {
      const answer = await this.#fetch();
      const bytes = typeof answer === 'string' ? Buffer.from(answer) : answer;
      if (bytes.byteLength > this.#options.maxBytes) throw new KeySetError('the key set is too large');
      const { keys, unusable, flawed } = readKeySet(bytes, this.#options.maxKeys, this.#keys);
      this.#replace(keys, asOfMs);
      listener.keySetLoaded(keys.length, unusable, flawed);
      return true;
    } catch (cause) {
      listener.keySetFailed(cause);
      return false;
    }
  }

  /** The answer, or a rejection when time is over, also where the fetcher does not heed its signal. */
  async #fetch(): Promise<Uint8Array | string> {
    const abort = new AbortController();
    this.#abort = abort;
    const answer = this.#dependencies.fetch(abort.signal);
    const aborted = new Promise<never>((_, reject) => {
      abort.signal.addEventListener('abort', () => reject(abort.signal.reason), { once: true });
    });
    const tooLate = () => abort.abort(new KeySetError('the issuer took too long to send its keys'));
    const timer = setTimeout(tooLate, this.#options.fetchTimeoutMs);
    try {
      return await Promise.race([answer, aborted]);
    } finally {
      clearTimeout(timer);
    }
  }

  #replace(keys: readonly VerificationKey[], asOfMs: number): void {
    const byId = new Map<string, VerificationKey[]>();
    for (const key of keys) {
      if (key.id === null) continue;
      const namesakes = byId.get(key.id);
      if (namesakes === undefined) byId.set(key.id, [key]);
      else namesakes.push(key);
    }
    this.#keys = keys;
    this.#held = new Set(keys);
    this.#byId = byId;
    this.#asOfMs = asOfMs;
    this.#version += 1;
  }

  #planNext(): void {
    clearTimeout(this.#timer);
    if (this.#closed || this.#retired) return;
    const { refreshMs, cooldownMs } = this.#options;
    const retryMs = cooldownMs * 2 ** Math.min(this.#failures - 1, MAX_RETRY_DOUBLINGS);
    const delayMs = this.#failures === 0 ? refreshMs : Math.min(refreshMs, retryMs);
    // By chance a little earlier, so that the replicas of a gateway do not all ask at once.
    this.#timer = setTimeout(() => void this.refresh(), delayMs * (1 - 0.1 * this.#dependencies.random()));
    this.#timer.unref();
  }
}
