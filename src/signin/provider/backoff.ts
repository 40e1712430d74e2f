const FIRST_MS = 500;
const MAX_MS = 15_000;

/**
 * How long to wait after this many failures in a row (from 1): 0.5 s doubled each time, at most 15 s, less up to a random
 * half, so that replicas that lost a provider together do not return to it together.
 *
 * @param random a number from 0 up to but not including 1
 */
export function retryDelayMs(failures: number, random: number): number {
  const full = Math.min(FIRST_MS * 2 ** (failures - 1), MAX_MS);
  return full - (full / 2) * random;
}

/** Refreshes up to a random tenth of the period early, for the same reason. */
export function refreshDelayMs(periodMs: number, random: number): number {
  return periodMs - (periodMs / 10) * random;
}
