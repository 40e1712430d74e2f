import type { Oracle } from './oracle.ts';

/** Each request reaches the service at most once, or twice where the documents say that it may be repeated. */
export const atMostOnce: Oracle = world => {
  for (const { id, method, mayRepeat, arrivals } of world.requests.all) {
    const most = mayRepeat ? 2 : 1;
    if (arrivals.length > most)
      world.wrong('at most once', `${method} ${id} reached the service ${arrivals.length} times`);
  }
};
