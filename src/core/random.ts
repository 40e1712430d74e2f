/** A number from 0 up to, not including, 1. Handed in wherever chance is wanted, so that tests can fix it. */
export type Random = () => number;

export const systemRandom: Random = Math.random;
