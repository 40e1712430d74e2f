import type { ProviderModel } from '../../config/index.ts';
import { digestOf, type ProcessPart, States } from '../../core/index.ts';
import type { FetchedKeySet } from '../../identity/auth/index.ts';
import type {
  Introspection,
  ProviderMetadata,
  SharedAnswer,
  SharedQuestion,
} from '../../identity/signin/index.ts';

/** What one thread has learnt about a provider, for the others. */
export interface IssuerState {
  /** `null` until they are known. */
  readonly metadata: ProviderMetadata | null;
  /** The last valid one; `null` before the first. */
  readonly keySet: FetchedKeySet | null;
  /** Whether its endpoints or keys could not be fetched at least once. */
  readonly hasFailed: boolean;
  /** How long until an unknown key may cause another fetch. */
  readonly cooldownMs: number;
}

/**
 * Shares what is learnt about providers: only the main thread fetches their endpoints and keys, and asks them about tokens.
 */
export class SharedIssuers {
  /** Whether this is the thread that fetches. */
  readonly fetches: boolean;
  /** By the key of each provider. */
  readonly states: States<IssuerState>;
  readonly #refresh: (key: string) => Promise<boolean>;
  readonly #refreshes = new Map<string, () => Promise<boolean>>();
  readonly #ask: (asked: readonly [key: string, SharedQuestion]) => Promise<SharedAnswer | null>;
  readonly #introspections = new Map<string, Introspection>();

  constructor(part: ProcessPart) {
    this.fetches = part.isMain;
    this.states = new States(part, 'issuers');
    this.#refresh = part.question('refresh keys', async key => this.#refreshes.get(key)?.() ?? false);
    this.#ask = part.question(
      'introspect',
      async ([key, asked]) => this.#introspections.get(key)?.answer(asked) ?? null,
    );
  }

  /**
   * From now on, fetches the keys of this provider when another thread meets an unknown one. Returns a function that ends this,
   * and forgets the provider.
   *
   * @param refresh resolves to whether there is a new set, never rejects
   */
  serve(key: string, refresh: () => Promise<boolean>): () => void {
    this.#refreshes.set(key, refresh);
    return () => {
      // Another provider object with the same settings may have replaced it meanwhile.
      if (this.#refreshes.get(key) !== refresh) return;
      this.#refreshes.delete(key);
      this.states.tell(key, null);
    };
  }

  /**
   * Has the main thread fetch the keys of a provider, unless they are cooling down. Resolves to whether there is a new set, which
   * has then been passed on; never rejects.
   */
  refresh(key: string): Promise<boolean> {
    return this.#refresh(key).catch(() => false);
  }

  /** From now on, uses this introspection to answer other threads; `null`: does not answer. */
  answer(key: string, introspection: Introspection | null): void {
    if (introspection === null) this.#introspections.delete(key);
    else this.#introspections.set(key, introspection);
  }

  /** Has the main thread ask a provider about a token; resolves to `null` if it does not know this provider yet. Never rejects. */
  ask(key: string, asked: SharedQuestion): Promise<SharedAnswer | null> {
    return this.#ask([key, asked]).catch(() => null);
  }
}

/** Identifies a provider with its settings, identically in all threads. */
export function issuerKey({ provider, keySet, label }: ProviderModel): string {
  return digestOf(JSON.stringify([provider, keySet, label]));
}
