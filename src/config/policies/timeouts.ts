import { formatDuration } from '../../core/index.ts';
import { compareTimes } from '../difference.ts';
import { duration, section } from '../values/index.ts';
import { routePolicy } from './policy.ts';
import { type RouteTimes, routeTimes } from './upstream-settings.ts';

interface TimeoutsModel {
  /** From the last byte of a request to the first of its response; `null` for no limit. */
  readonly firstByteTimeoutMs: number | null;
  /** Between two bytes of a response's body; `null` for no limit. */
  readonly idleTimeoutMs: number | null;
}

const override = (name: string) => duration().optional().describe(`Overrides ${name} of the upstream.`);
const OVERRIDES = Object.fromEntries(Object.keys(routeTimes).map(name => [name, override(name)])) as {
  readonly [Name in keyof RouteTimes]: ReturnType<typeof override>;
};

export const routeTimeouts = routePolicy({
  keys: {
    timeouts: section('Timeouts that differ from those of the upstream.', OVERRIDES),
  },
  pathOnly: ['timeouts'],
  forwardOnly: ['timeouts'],
  compile: (_, { timeouts }): TimeoutsModel => ({
    firstByteTimeoutMs: timeouts?.first_byte ?? null,
    idleTimeoutMs: timeouts?.idle ?? null,
  }),
  // A call may legitimately be silent for hours: its own deadline bounds it, and PINGs show whether its connection is alive.
  compileCall: () => ({ firstByteTimeoutMs: null, idleTimeoutMs: null }),
  describe({ upstream, firstByteTimeoutMs, idleTimeoutMs }) {
    const times = [
      ['connect', upstream?.options.connectTimeoutMs ?? null],
      ['first byte', firstByteTimeoutMs],
      ['idle', idleTimeoutMs],
    ] as const;
    return { timeouts: times.map(inWords).join(', ') };
  },
  compare: (now, before) => [
    compareTimes('first_byte', now.firstByteTimeoutMs, before.firstByteTimeoutMs),
    compareTimes('idle', now.idleTimeoutMs, before.idleTimeoutMs),
  ],
});

function inWords([name, ms]: readonly [name: string, ms: number | null]): string {
  return `${name} ${ms === null ? 'none' : formatDuration(ms)}`;
}
