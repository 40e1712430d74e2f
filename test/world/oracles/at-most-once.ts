import type { Oracle } from './oracle.ts';

/**
 * Each request reaches the service at most once, or twice where the documents say that it may be repeated; never, if the client was told
 * that nothing was done for it.
 */
export const atMostOnce: Oracle = world => {
  for (const { id, method, mayRepeat, arrivals, outcome } of world.requests.all) {
    const most = outcome === 'unprocessed' ? 0 : mayRepeat ? 2 : 1;
    if (arrivals.length > most)
      world.wrong('at most once', `${method} ${id} reached the service ${arrivals.length} times`);
  }
};
