import type { ExchangeListener, ProcessPart, RandomBytes, TimerClock } from '../core/index.ts';
import { hexSource, UpstreamPermits } from '../core/index.ts';
import { HeldRequests } from './held-requests.ts';
import type { Limiting, Overload, RequestGeneration } from './runtime/index.ts';
import type { UnlistedProxies } from './unlisted-proxies.ts';

/** More exchanges than one thread serves in its lifetime, so that no two threads use the same number. */
const NUMBERS_PER_THREAD = 2 ** 40;

export interface GatewayDependencies {
  /** The generation for the first exchanges. */
  readonly generation: RequestGeneration;
  readonly clock: TimerClock;
  readonly randomBytes: RandomBytes;
  readonly listener: ExchangeListener;
  readonly nextRequestId: () => string;
  readonly limiting: Limiting;
  readonly overload: Overload;
  readonly unlistedProxies: UnlistedProxies;
  /** Counts exchanges in flight. The thread's number keeps the numbers of its exchanges apart from those of other threads. */
  readonly part: Pick<ProcessPart, 'memory' | 'permits'>;
}

/** The state of a gateway that outlives exchanges: counters, and the configuration for the next exchange. */
export type GatewayState = ReturnType<typeof gatewayState>;

export function gatewayState(parts: GatewayDependencies) {
  const { clock, randomBytes, limiting } = parts;
  const { permits, memory } = parts.part;
  return {
    ...parts,
    held: new HeldRequests(clock, outcome => limiting.listener.held(outcome), permits),
    randomHex: hexSource(randomBytes),
    /** Permits of exchanges, in total and by address. */
    permits: permits('requests'),
    upstreamPermits: new UpstreamPermits(permits),
    /** Exchanges whose complete response has not arrived yet. */
    inFlight: 0,
    /** The number of the last exchange. */
    sequence: memory.worker * NUMBERS_PER_THREAD,
  };
}
