import type { FetchedKeySet } from '../auth/index.ts';
import type { ProviderModel } from '../config/index.ts';
import { digestOf, type LearntStates, type ToldStates } from '../core/index.ts';
import type { ProviderMetadata } from '../signin/index.ts';

/** What one thread has learnt of a provider, for the others. */
export interface IssuerState {
  /** `null` until they are known. */
  readonly metadata: ProviderMetadata | null;
  /** The last good one; `null` before the first. */
  readonly keySet: FetchedKeySet | null;
  /** Whether its endpoints or keys could not be fetched at least once. */
  readonly hasFailed: boolean;
  /** How long until an unknown key may cause a fetch again. */
  readonly cooldownMs: number;
}

/** How the threads of a process share what one of them learns of providers: only that one asks for their endpoints and keys. */
export type IssuerSharing = ToldIssuers | LearntIssuers;

export interface ToldIssuers extends ToldStates<IssuerState> {
  /**
   * Fetches the keys of this provider, from now on, when another thread meets an unknown one. Returns what ends that, and forgets
   * the provider.
   *
   * @param refresh resolves to whether a new set came, never rejects
   */
  serve(key: string, refresh: () => Promise<boolean>): () => void;
}

export interface LearntIssuers extends LearntStates<IssuerState> {
  /**
   * Has the keys of a provider fetched, unless they are cooling down. Resolves to whether a new set came, which has been handed over
   * by then; never rejects.
   */
  refresh(key: string): Promise<boolean>;
}

/** Names a provider with its settings, in all threads alike. */
export function issuerKey({ provider, keySet, label }: ProviderModel): string {
  return digestOf(JSON.stringify([provider, keySet, label]));
}
