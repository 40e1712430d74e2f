import type { BucketConfig, LimitsConfig } from '../schema/index.ts';
import { compareSizes, type Difference, describeQuota } from './compare-values.ts';

type Shadow = BucketConfig['shadow'] | Exclude<LimitsConfig['global'], 'off'>['shadow'];

/** How a limit is tried. */
export interface Trial {
  readonly shadow: Shadow;
  readonly enforce?: number | undefined;
}

/** The percentage of callers that the written numbers hold for; the others they only count. */
export function reachOf({ shadow, enforce }: Trial): number {
  if (shadow === true) return 0;
  return typeof shadow === 'object' ? 100 : (enforce ?? 100);
}

/** The percentage of callers that have the tried numbers in place of those that hold; the tried ones only count the others. */
export function trialReachOf({ shadow, enforce }: Trial): number {
  return typeof shadow === 'object' && enforce !== undefined && enforce < 100 ? enforce : 0;
}

/** Compares whom a limit holds for, and what is tried beside it. What is in shadow refuses nobody, so that its numbers are neutral. */
export function compareShadow(now: Trial, before: Trial, numbers: readonly Difference[]): Difference[] {
  const [reach, reached] = [reachOf(now), reachOf(before)];
  const whom = compareSizes(reached, reach, `${describeReach(reach)}, before ${describeReach(reached)}`);
  const [tries, tried] = [describeTrials(now.shadow), describeTrials(before.shadow)];
  const onShare = trialReachOf(now) > 0 || trialReachOf(before) > 0;
  const trials = tries === tried || onShare ? [] : [neutral(`tries ${tries} in shadow, before ${tried}`)];
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
  return percentage === 100
    ? 'holds for all callers'
    : `holds for ${percentage}% of callers and does not limit the others`;
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
