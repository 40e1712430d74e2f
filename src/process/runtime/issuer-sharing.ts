import type { ProviderModel } from '../../config/index.ts';
import { digestOf, type LearntStates, type PublishedStates } from '../../core/index.ts';
import type { FetchedKeySet } from '../../identity/auth/index.ts';
import type { ProviderMetadata } from '../../identity/signin/index.ts';

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

/** How the threads of a process share what one of them learns about providers: only that one fetches their endpoints and keys. */
export type IssuerSharing = PublishedIssuers | LearntIssuers;

export interface PublishedIssuers extends PublishedStates<IssuerState> {
  /**
   * From now on, fetches the keys of this provider when another thread meets an unknown one. Returns a function that ends this,
   * and forgets the provider.
   *
   * @param refresh resolves to whether there is a new set, never rejects
   */
  serve(key: string, refresh: () => Promise<boolean>): () => void;
}

export interface LearntIssuers extends LearntStates<IssuerState> {
  /**
   * Has the keys of a provider fetched, unless they are cooling down. Resolves to whether there is a new set, which has then been
   * passed on; never rejects.
   */
  refresh(key: string): Promise<boolean>;
}

/** Identifies a provider with its settings, identically in all threads. */
export function issuerKey({ provider, keySet, label }: ProviderModel): string {
  return digestOf(JSON.stringify([provider, keySet, label]));
}
