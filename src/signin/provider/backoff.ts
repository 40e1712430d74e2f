const FIRST_MS = 500;
const MAX_MS = 15_000;

/**
 * How long to wait after so many failures in a row (from 1): 0.5 s doubled each time, never over 15 s, less up to half of
 * it by chance, so that the replicas that lost a provider together do not come back to it together.
 *
 * @param random a number from 0 up to but not including 1
 */
export function retryDelayMs(failures: number, random: number): number {
  const full = Math.min(FIRST_MS * 2 ** (failures - 1), MAX_MS);
  return full - (full / 2) * random;
}

/** A refresh falls up to a tenth of the period early, by chance, for the same reason. */
export function refreshDelayMs(periodMs: number, random: number): number {
  return periodMs - (periodMs / 10) * random;
}
