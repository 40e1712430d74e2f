import { describe, expect, test } from 'vitest';
import { judge } from '../../scripts/soak/judge.ts';
import type { Sample } from '../../scripts/soak/samples.ts';
import { Random } from '../support/random.ts';

const MIB = 2 ** 20;
const GAUGES = [
  'weir_requests_in_flight',
  'weir_client_connections',
  'weir_upstream_connections',
  'weir_websockets_open',
  'weir_limit_in_flight',
  'weir_store_untold',
];

interface Held {
  readonly heap?: number;
  readonly descriptors?: number;
  readonly requests?: number;
}

/** Eight hours with a rest every four minutes, whose memory is never the same twice. */
function eightHours(held: (rest: number) => Held): Sample[] {
  const random = new Random(1);
  const noise = () => 6 * MIB * random.next();
  return Array.from({ length: 120 }, (_, rest) => {
    const { heap = 0, descriptors = 0, requests = 0 } = held(rest);
    const gauges = {
      ...Object.fromEntries(GAUGES.map(name => [name, 0])),
      weir_requests_in_flight: requests,
    };
    return {
      ...{ at: 240 * rest, cycle: rest, resident: 180 * MIB + 3 * noise(), processorSeconds: 0 },
      descriptors: 30 + descriptors,
      rest: {
        ...{ heapUsed: 30 * MIB + heap * MIB + noise(), external: 40 * MIB, timers: 14, handles: 8 },
        gauges,
      },
    };
  });
}

function notReturned(samples: readonly Sample[]): string[] {
  return judge(samples)
    .filter(({ returned }) => !returned)
    .map(({ name }) => name);
}

describe('what does not return in a soak is named', () => {
  test('nothing, where memory only goes up and down, or filled caches in the beginning', () => {
    expect(notReturned(eightHours(() => ({})))).toEqual([]);
    expect(notReturned(eightHours(rest => ({ heap: Math.min(rest, 20) })))).toEqual([]);
  });

  test.each([
    ['heap in use', (rest: number) => ({ heap: rest / 12 })],
    ['descriptors', (rest: number) => ({ descriptors: Math.floor(rest / 12) })],
    ['weir_requests_in_flight', (rest: number) => ({ requests: rest === 90 ? 1 : 0 })],
  ])('%s', (name, held) => {
    expect(notReturned(eightHours(held))).toEqual([name]);
  });
});
