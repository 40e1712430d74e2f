import { compareSizes } from '../difference.ts';
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
  compare: ({ minReadRate: now }, { minReadRate: before }) =>
    // The higher rate is the stricter one.
    compareSizes(before ?? 0, now ?? 0, `min_read_rate ${formatRate(now)}, before ${formatRate(before)}`),
});
