import type { StoreModel } from '../config/index.ts';
import type { SharedStore, SharedStoreDependencies } from './shared-store.ts';

/** Makes the store that gateways share, once what it needs is there. */
export type NewSharedStore = (dependencies: SharedStoreDependencies) => SharedStore;

/**
 * Loads the code for Redis where it is used: each thread would hold 3 MiB of it.
 *
 * @returns `null` if limits are counted in memory
 */
export async function loadSharedStore(model: StoreModel): Promise<NewSharedStore | null> {
  if (model.kind === 'memory') return null;
  const { SharedStore } = await import('./shared-store.ts');
  return dependencies => new SharedStore(model, dependencies);
}
