import { compareSizes, type Difference } from '../difference.ts';
import { formatRate, rateOrOff } from '../values/index.ts';
import { routePolicy } from './policy.ts';

export const reading = routePolicy({
  keys: {
    min_read_rate: rateOrOff()
      .optional()
      .describe(
        'Minimum rate at which a client reads responses of this route, in place of min_read_rate for all. off: no minimum.',
      ),
  },
  pathOnly: ['min_read_rate'],
  forwardOnly: ['min_read_rate'],
  compile: ({ min_read_rate: own }, { minReadRate }) => ({
    minReadRate: own === undefined ? minReadRate : own,
  }),
  describe: ({ minReadRate }) => ({
    'client reads':
      minReadRate === null
        ? 'at any rate'
        : `at least ${formatRate(minReadRate)} of what waits for it on average, else its connection ends`,
  }),
  compare: (now, before) => compareMinima('min_read_rate', now.minReadRate, before.minReadRate),
});

/** Compares two minimum rates, of which the higher one is the stricter one; `null`: no minimum. */
export function compareMinima(key: string, now: number | null, before: number | null): Difference | null {
  return compareSizes(before ?? 0, now ?? 0, `${key} ${formatRate(now)}, before ${formatRate(before)}`);
}
