import {
  type AuthListener,
  namesTenant,
  type Tenants,
  type Timer,
  type TimerClock,
} from '../../core/index.ts';
import type { KeySetOptions } from './options.ts';
import { type Jwt, KeySetError, readKeySet, tenantOf, type VerificationKey } from './token/index.ts';

/** Fetches the issuer's key set; rejects when it cannot. Should stop when the signal is aborted. */
export type KeySetFetcher = (signal: AbortSignal) => Promise<Uint8Array | string>;

export interface FetchedKeySet {
  readonly bytes: Uint8Array;
  /** When the fetch began, since the epoch. */
  readonly asOfMs: number;
}

export interface KeySetDependencies {
  readonly fetch: KeySetFetcher;
  readonly clock: TimerClock;
  /** Returns a number from 0 up to but not including 1. */
  readonly random: () => number;
  readonly listener: Pick<AuthListener, 'keySetLoaded' | 'keySetFailed'>;
  /**
   * Has another thread fetch the keys, instead of `fetch`; `follow` then passes on the result. Resolves to whether there is a
   * usable set. Default: this set fetches them itself, and again in the background.
   */
  readonly ask?: (() => Promise<boolean>) | undefined;
}

/** How a token names the key that signed it. */
type KeyName = Pick<Jwt, 'keyId' | 'thumbprint'>;

/** After a failed fetch the next follows after the cooldown, then after twice and four times the cooldown. */
const MAX_RETRY_DOUBLINGS = 2;

/** How many keys are tried for one token: more than any provider publishes without `kid`. Each one draws on the budget. */
const MAX_CANDIDATES = 16;

/**
 * The issuer's keys, fetched in the background. When a fetch fails, the last good set stays in use without limit: an
 * unreachable issuer does not invalidate its keys. There is never more than one fetch at a time.
 */
export class KeySet {
  readonly #options: KeySetOptions;
  readonly #dependencies: KeySetDependencies;
  #keys: readonly VerificationKey[] = [];
  #held: ReadonlySet<VerificationKey> = new Set();
  #byId: ReadonlyMap<string, readonly VerificationKey[]> = new Map();
  #byThumbprint: ReadonlyMap<string, readonly VerificationKey[]> = new Map();
  #version = 0;
  #asOfMs = Number.NEGATIVE_INFINITY;
  #bytes: Uint8Array = new Uint8Array();
  #cooledDownAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #flight: Promise<boolean> | null = null;
  #timer: Timer | null = null;
  #abort = new AbortController();
  #retired: boolean;
  #closed = false;

  /** @param before keys already known for the same issuer, used until the first fetch succeeds */
  constructor(options: KeySetOptions, dependencies: KeySetDependencies, before: KeySet | null = null) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#retired = dependencies.ask !== undefined;
    if (before?.loaded !== true) return;
    this.#replace(before.#keys, before.#asOfMs, before.#bytes);
    // Continue the count: remembered refusals depend on the version.
    this.#version = before.#version;
  }

  /** Whether a key set was ever loaded; the gateway is not ready until then. */
  get loaded(): boolean {
    return this.#version > 0;
  }

  /** Counts the sets loaded. A new set may make a rejected signature valid. */
  get version(): number {
    return this.#version;
  }

  /** When the fetch of the current set began, since the epoch; newer keys may be missing. */
  get asOfMs(): number {
    return this.#asOfMs;
  }

  /** The current set, for `follow` in another thread; `null` before the first. */
  get fetched(): FetchedKeySet | null {
    return this.loaded ? { bytes: this.#bytes, asOfMs: this.#asOfMs } : null;
  }

  get size(): number {
    return this.#keys.length;
  }

  get fetching(): boolean {
    return this.#flight !== null;
  }

  /** How long until an unknown key may cause another fetch; 0 if it may now. */
  cooldownMs(): number {
    return Math.max(0, this.#cooledDownAtMs - this.#dependencies.clock.monotonicMs());
  }

  holds(key: VerificationKey): boolean {
    return this.#held.has(key);
  }

  /** Whether the current set has a key that the token names, of any type. False if it names none. */
  knows(token: KeyName): boolean {
    return this.#named(token).length > 0;
  }

  /**
   * The keys that may have made the signature: those that the token names, else keys without an id (google/jwt_verify_lib#65), or
   * all if it names none. A key that names its issuer signs for no other tenant.
   */
  candidates(
    { algorithm, claims, ...token }: KeyName & Pick<Jwt, 'algorithm' | 'claims'>,
    tenants: Tenants | null,
  ): readonly VerificationKey[] {
    const named = this.#named(token);
    const keys = named.length > 0 ? named : this.#keys.filter(key => mayBeMeant(key, token));
    const tenant = tenantOf(claims, tenants);
    return keys
      .filter(key => key.algorithms.includes(algorithm) && signsFor(key, tenant, tenants))
      .slice(0, MAX_CANDIDATES);
  }

  /** The keys that a token names by its `kid`, else by the certificate of its key. */
  #named({ keyId, thumbprint }: KeyName): readonly VerificationKey[] {
    const byId = keyId === null ? undefined : this.#byId.get(keyId);
    return byId ?? (thumbprint === null ? undefined : this.#byThumbprint.get(thumbprint)) ?? [];
  }

  /**
   * Fetches the keys, or joins the fetch in progress, and schedules the next one. Call it once at start.
   *
   * @returns whether there is a usable set; never rejects
   */
  refresh(): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    this.#flight ??= (this.#dependencies.ask?.() ?? this.#load()).then(good => {
      this.#flight = null;
      this.#planNext();
      return good;
    });
    return this.#flight;
  }

  /**
   * Takes over what another thread has fetched with the same options.
   *
   * @param fetched its last good set; `null` if there is none
   * @param cooldownMs how long until an unknown key may cause another fetch
   */
  follow(fetched: FetchedKeySet | null, cooldownMs: number): void {
    this.#cooledDownAtMs = this.#dependencies.clock.monotonicMs() + cooldownMs;
    if (fetched === null || fetched.asOfMs === this.#asOfMs) return;
    const { keys } = readKeySet(fetched.bytes, this.#options.maxKeys, this.#keys);
    this.#replace(keys, fetched.asOfMs, fetched.bytes);
  }

  /** Ends background fetches because another set takes over. Exchanges in progress can still cause one. */
  retire(): void {
    this.#retired = true;
    this.#dependencies.clock.cancel(this.#timer);
  }

  /** Stops fetching. The keys stay usable. */
  close(): void {
    this.#closed = true;
    this.#dependencies.clock.cancel(this.#timer);
    this.#abort.abort(new KeySetError('the gateway no longer needs the keys'));
  }

  async #load(): Promise<boolean> {
    const { clock, listener } = this.#dependencies;
    const asOfMs = clock.epochMs();
    try {
      const response = await this.#fetch();
      const bytes = typeof response === 'string' ? Buffer.from(response) : response;
      if (bytes.byteLength > this.#options.maxBytes) throw new KeySetError('the key set is too large');
      const { keys, unusable, flawed } = readKeySet(bytes, this.#options.maxKeys, this.#keys);
      this.#replace(keys, asOfMs, bytes);
      this.#fetched(true);
      listener.keySetLoaded(keys.length, unusable, flawed);
      return true;
    } catch (cause) {
      this.#fetched(false);
      listener.keySetFailed(cause);
      return false;
    }
  }

  #fetched(good: boolean): void {
    this.#failures = good ? 0 : this.#failures + 1;
    this.#cooledDownAtMs = this.#dependencies.clock.monotonicMs() + this.#options.cooldownMs;
  }

  /** Enforces the timeout even when the fetcher ignores its signal. */
  async #fetch(): Promise<Uint8Array | string> {
    const abort = new AbortController();
    this.#abort = abort;
    const response = this.#dependencies.fetch(abort.signal);
    const aborted = new Promise<never>((_, reject) => {
      abort.signal.addEventListener('abort', () => reject(abort.signal.reason), { once: true });
    });
    const tooLate = () => abort.abort(new KeySetError('the issuer took too long to send its keys'));
    const { clock } = this.#dependencies;
    const timer = clock.after(this.#options.fetchTimeoutMs, tooLate);
    try {
      return await Promise.race([response, aborted]);
    } finally {
      clock.cancel(timer);
    }
  }

  #replace(keys: readonly VerificationKey[], asOfMs: number, bytes: Uint8Array): void {
    this.#keys = keys;
    this.#held = new Set(keys);
    this.#byId = indexBy(keys, ({ id }) => (id === null ? [] : [id]));
    this.#byThumbprint = indexBy(keys, ({ thumbprints }) => thumbprints);
    this.#asOfMs = asOfMs;
    this.#bytes = bytes;
    this.#version += 1;
  }

  #planNext(): void {
    this.#dependencies.clock.cancel(this.#timer);
    if (this.#closed || this.#retired) return;
    const { refreshMs, cooldownMs } = this.#options;
    const retryMs = cooldownMs * 2 ** Math.min(this.#failures - 1, MAX_RETRY_DOUBLINGS);
    const delayMs = this.#failures === 0 ? refreshMs : Math.min(refreshMs, retryMs);
    // Fetch up to a tenth earlier, at random, so that replicas do not all fetch at once.
    const earlyMs = delayMs * (1 - 0.1 * this.#dependencies.random());
    this.#timer = this.#dependencies.clock.after(earlyMs, () => void this.refresh());
  }
}

/** Whether a token's names do not rule out this key: they say nothing about a key that has no name of the same sort. */
function mayBeMeant({ id, thumbprints }: VerificationKey, { keyId, thumbprint }: KeyName): boolean {
  return (keyId === null || id === null) && (thumbprint === null || thumbprints.length === 0);
}

function signsFor({ issuer }: VerificationKey, tenant: string | null, tenants: Tenants | null): boolean {
  if (tenants === null || issuer === null) return true;
  return tenant !== null && namesTenant(issuer, tenant, tenants);
}

function indexBy(
  keys: readonly VerificationKey[],
  namesOf: (key: VerificationKey) => readonly string[],
): ReadonlyMap<string, readonly VerificationKey[]> {
  const index = new Map<string, VerificationKey[]>();
  for (const key of keys) for (const name of namesOf(key)) index.set(name, [...(index.get(name) ?? []), key]);
  return index;
}
