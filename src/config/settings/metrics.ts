import { section, yesOrNo } from '../values/index.ts';
import { setting } from './setting.ts';

/** `metrics`: which labels they have (compile/compile-labels.ts). */
export const metrics = setting({
  keys: {
    metrics: section('The metrics of the admin listener, in the text format of Prometheus.', {
      route_durations: yesOrNo(false).describe(
        'Whether weir_request_duration_seconds has the label route as well. Costs up to 36 lines of a scrape per route.',
      ),
    }),
  },
  compile: ({ metrics }) => ({
    metrics: Object.freeze({ routeDurations: metrics.route_durations }),
  }),
});
