import type { StoreModel } from '../../config/index.ts';
import type { SharedStore, SharedStoreDependencies } from './shared-store.ts';

/** Creates the store that gateways share, once its dependencies are available. */
export type NewSharedStore = (dependencies: SharedStoreDependencies) => SharedStore;

/**
 * Loads the code for Redis only if it is used: each thread would hold 3 MiB of it. @returns `null` if limits are counted in
 * memory
 */
export async function loadSharedStore(model: StoreModel): Promise<NewSharedStore | null> {
  if (model.kind === 'memory') return null;
  const { SharedStore } = await import('./shared-store.ts');
  return dependencies => new SharedStore(model, dependencies);
}
