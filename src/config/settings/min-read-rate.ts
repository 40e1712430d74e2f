import { rateOrOff } from '../values/index.ts';
import { setting } from './setting.ts';

export const minReadRate = setting({
  keys: {
    min_read_rate: rateOrOff('240B/s').describe(
      'Minimum rate, averaged over timeouts.client_read, at which a client reads while anything waits for it; below it its connection ends. Routes may say otherwise. off: no minimum.',
    ),
  },
  compile: ({ min_read_rate: minReadRate }) => ({ minReadRate }),
});
