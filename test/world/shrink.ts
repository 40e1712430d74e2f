import type { PlannedStep } from './plan.ts';
import { type Outcome, play } from './play.ts';

/**
 * Finds a small part of what the seed has planned that still breaks the same rule: it leaves out halves, then quarters, down to single
 * steps, until none can be left out.
 *
 * @param told is told how many steps are left
 * @param playWorld plays it
 */
export async function shrink(
  seed: number,
  told: (steps: number) => void,
  playWorld = play,
): Promise<Outcome> {
  let smallest = await playWorld(seed);
  const [first] = smallest.findings;
  if (first === undefined) return smallest;
  let kept = smallest.steps.map(({ number }) => number);
  for (let size = Math.ceil(kept.length / 2); kept.length > 0; ) {
    let isSmaller = false;
    for (let at = 0; at < kept.length; ) {
      const rest = [...kept.slice(0, at), ...kept.slice(at + size)];
      const outcome = await playOnly(seed, rest, null, playWorld);
      if (outcome.findings.some(({ oracle }) => oracle === first.oracle)) {
        [smallest, kept, isSmaller] = [outcome, rest, true];
        told(kept.length);
      } else at += size;
    }
    if (size > 1) size = Math.ceil(size / 2);
    else if (!isSmaller) break;
  }
  return { ...smallest, steps: smallest.steps.filter(({ number }) => kept.includes(number)) };
}

/** Plays a world in which only these steps happen. */
export function playOnly(
  seed: number,
  numbers: readonly number[],
  show: ((line: string) => void) | null = null,
  playWorld = play,
): Promise<Outcome> {
  return playWorld(seed, { show, takes: ({ number }: PlannedStep) => numbers.includes(number) });
}
