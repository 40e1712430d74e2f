import type { Settings } from '../bench.ts';

/** Bounds the warm-up. */
const MAX_STEPS = { full: 12, quick: 6 } as const;
const FEWEST_STEPS = 3;
/** The last steps, of which none may be cheaper by more than `NOTICEABLE` than all before them. */
const STILL_STEPS = 2;
const NOTICEABLE = 0.05;

/**
 * Sends requests until they get no cheaper: a compiler at run time needs some seconds of load. Returns what the first step cost, as
 * with a gateway that has just started.
 *
 * @param step sends requests for a second or so, and returns what one cost
 */
export async function warmUp(step: () => Promise<number>, mode: Settings['mode']): Promise<number> {
  const costs: number[] = [];
  for (let steps = 0; steps < MAX_STEPS[mode] && !hasSettled(costs); steps++) {
    const cost = await step();
    // On a busy machine, connecting a thousand clients can take the whole step.
    if (Number.isFinite(cost)) costs.push(cost);
  }
  return costs[0] ?? Number.NaN;
}

/** Whether the last steps brought no noticeable gain. */
export function hasSettled(costs: readonly number[]): boolean {
  if (costs.length < FEWEST_STEPS) return false;
  const [earlier, last] = [costs.slice(0, -STILL_STEPS), costs.slice(-STILL_STEPS)];
  return Math.min(...last) >= Math.min(...earlier) * (1 - NOTICEABLE);
}
