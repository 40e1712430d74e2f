import type { BucketConfig, LimitsConfig } from '../schema/index.ts';
import { compareSizes, type Difference, describeQuota } from './compare-values.ts';

type Shadow = BucketConfig['shadow'] | Exclude<LimitsConfig['global'], 'off'>['shadow'];

/** The percentage of callers that a limit holds for; the others it only counts. */
export function reachOf({
  shadow,
  enforce,
}: {
  readonly shadow: Shadow;
  readonly enforce?: number | undefined;
}) {
  return shadow === true ? 0 : (enforce ?? 100);
}

/** Compares whom a limit holds for, and what is tried beside it. What is in shadow refuses nobody, so that its numbers are neutral. */
export function compareShadow(
  now: { readonly shadow: Shadow; readonly enforce?: number | undefined },
  before: { readonly shadow: Shadow; readonly enforce?: number | undefined },
  numbers: readonly Difference[],
): Difference[] {
  const [reach, reached] = [reachOf(now), reachOf(before)];
  const whom = compareSizes(reached, reach, `${describeReach(reach)}, before ${describeReach(reached)}`);
  const [tries, tried] = [describeTrials(now.shadow), describeTrials(before.shadow)];
  const trials = tries === tried ? [] : [neutral(`tries ${tries} in shadow, before ${tried}`)];
  const refuses = reach > 0 && reached > 0;
  return [
    ...(whom === null ? [] : [whom]),
    ...(refuses ? numbers : numbers.map(({ text }) => neutral(`in shadow: ${text}`))),
    ...trials,
  ];
}

/** Says whom a limit holds for: `holds for 10% of callers`. */
export function describeReach(percentage: number): string {
  if (percentage === 0) return 'in shadow';
  return percentage === 100 ? 'holds for all callers' : `holds for ${percentage}% of callers`;
}

const CLASSES = ['user', 'bot', 'address'] as const;

function describeTrials(shadow: Shadow): string {
  if (typeof shadow === 'boolean') return 'nothing';
  const classes = CLASSES.flatMap(name => {
    const quota = shadow[name];
    return quota === undefined ? [] : [`each ${name} ${describeQuota(quota)}`];
  });
  const { resource } = { resource: undefined, ...shadow };
  const parts =
    resource === undefined ? classes : [...classes, `all callers together ${describeQuota(resource)}`];
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

function neutral(text: string): Difference {
  return { effect: 'neutral', left: 1, text };
}
