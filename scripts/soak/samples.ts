import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProbedGateway } from './probed-gateway.ts';

/** Gauges that say what is under way: 0 at rest. */
export const UNDER_WAY = [
  'weir_requests_in_flight',
  'weir_client_connections',
  'weir_upstream_connections',
  'weir_websockets_open',
  'weir_limit_in_flight',
  'weir_store_untold',
] as const;

/** What is bounded, and comes and goes with time: shown, not judged. */
const KEPT = ['weir_limit_keys', 'weir_restricted', 'weir_revocations'] as const;

/** What the gateway took at one moment. */
export interface Sample {
  /** Seconds since the start. */
  readonly at: number;
  readonly cycle: number;
  /** Bytes. */
  readonly resident: number;
  readonly descriptors: number;
  /** Of the gateway, since its start. */
  readonly processorSeconds: number;
  /** What it held at a rest, all threads together; null under load, when nobody asks. */
  readonly rest: Rest | null;
}

interface Rest {
  /** Bytes of objects, and of what they hold outside the heap. */
  readonly heapUsed: number;
  readonly external: number;
  readonly timers: number;
  /** Sockets, servers and everything else that keeps an event loop busy. */
  readonly handles: number;
  readonly gauges: Readonly<Record<string, number>>;
}

export function sampleOf(gateway: ProbedGateway, at: number, cycle: number, rest: Rest | null): Sample {
  const { resident, descriptors, processorSeconds } = gateway;
  return { at, cycle, resident, descriptors, processorSeconds, rest };
}

export async function restOf(gateway: ProbedGateway): Promise<Rest> {
  const gauges = await gaugesOf(gateway);
  const threads = await gateway.holds();
  const sum = (of: (thread: (typeof threads)[number]) => number) =>
    threads.reduce((total, thread) => total + of(thread), 0);
  return {
    heapUsed: sum(({ heapUsed }) => heapUsed),
    external: sum(({ external }) => external),
    timers: sum(({ timers }) => timers),
    handles: sum(({ handles }) => handles),
    gauges,
  };
}

export function gaugesOf(gateway: ProbedGateway): Promise<Record<string, number>> {
  return gateway.sums([...UNDER_WAY, ...KEPT]);
}

export function isQuiet(gauges: Readonly<Record<string, number>>): boolean {
  return UNDER_WAY.every(name => gauges[name] === 0);
}

/** What a run has written so far. */
export function readSamples(folder: string): Sample[] {
  const lines = readFileSync(join(folder, 'samples.jsonl'), 'utf8').trim().split('\n');
  return lines.map(line => JSON.parse(line));
}
