import type { ExchangeListener, Permits, ProcessPart, RandomBytes, TimerClock } from '../core/index.ts';
import { hexSource, UpstreamPermits } from '../core/index.ts';
import type { Limiting, Overload, RequestGeneration } from '../process/runtime/index.ts';
import { HeldRequests } from './held-requests.ts';
import { RestrictionResponses } from './responses/index.ts';
import type { UnlistedProxies } from './unlisted-proxies.ts';

/** More requests than one thread serves in its life, so that no two threads give the same number. */
const NUMBERS_PER_THREAD = 2 ** 40;

/** The parts that a gateway is built from. */
export interface GatewayDependencies {
  /** The generation that the first exchanges begin with. */
  readonly generation: RequestGeneration;
  readonly clock: TimerClock;
  readonly randomBytes: RandomBytes;
  readonly listener: ExchangeListener;
  readonly nextRequestId: () => string;
  readonly limiting: Limiting;
  readonly overload: Overload;
  readonly unlistedProxies: UnlistedProxies;
  /** Counts exchanges in flight, and says which thread this is: each numbers its exchanges apart. */
  readonly part: Pick<ProcessPart, 'memory' | 'permits'>;
}

/** The state of a gateway that outlives exchanges: counters, and the configuration for the next exchange. */
export class GatewayState {
  readonly clock: TimerClock;
  readonly randomBytes: RandomBytes;
  readonly listener: ExchangeListener;
  readonly nextRequestId: () => string;
  readonly limiting: Limiting;
  readonly overload: Overload;
  readonly unlistedProxies: UnlistedProxies;
  readonly restrictionResponses = new RestrictionResponses();
  readonly held: HeldRequests;
  readonly randomHex: (bytes: number) => string;
  /** Permits of exchanges, in total and by address. */
  readonly permits: Permits;
  readonly upstreamPermits: UpstreamPermits;
  generation: RequestGeneration;
  /** Exchanges whose complete response has not arrived yet. */
  inFlight = 0;
  /** The number of the last exchange. */
  sequence: number;

  constructor(parts: GatewayDependencies) {
    const { permits, memory } = parts.part;
    this.sequence = memory.worker * NUMBERS_PER_THREAD;
    this.generation = parts.generation;
    this.randomBytes = parts.randomBytes;
    this.randomHex = hexSource(parts.randomBytes);
    this.clock = parts.clock;
    this.listener = parts.listener;
    this.nextRequestId = parts.nextRequestId;
    this.limiting = parts.limiting;
    this.held = new HeldRequests(parts.clock, outcome => parts.limiting.listener.held(outcome), permits);
    this.overload = parts.overload;
    this.unlistedProxies = parts.unlistedProxies;
    this.permits = permits('requests');
    this.upstreamPermits = new UpstreamPermits(permits);
  }
}
