import type { ExchangeListener, HeldOutcome, RandomBytes, TimerClock } from '../core/index.ts';
import { hexSource } from '../core/index.ts';
import type { Limiting, Overload, RequestGeneration } from '../runtime/index.ts';
import { HeldRequests, type NewHeldRequests, type RequestHolder } from './held-requests.ts';
import { type GatewayPermits, processPermits } from './permits.ts';
import { RestrictionResponses } from './responses/index.ts';
import type { UnlistedProxies } from './unlisted-proxies.ts';

/** What a gateway is made of. */
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
  /** The permits, if several gateways share them. Default: permits of this process alone. */
  readonly permits?: GatewayPermits | undefined;
  /** Makes what holds requests for `patience`. Default: lines of this process alone. */
  readonly newHeldRequests?: NewHeldRequests | undefined;
}

/** Everything of a gateway that outlives an exchange: counters, and the configuration that the next exchange begins with. */
export class GatewayState {
  readonly clock: TimerClock;
  readonly randomBytes: RandomBytes;
  readonly listener: ExchangeListener;
  readonly nextRequestId: () => string;
  readonly limiting: Limiting;
  readonly overload: Overload;
  readonly unlistedProxies: UnlistedProxies;
  readonly restrictionResponses = new RestrictionResponses();
  readonly held: RequestHolder;
  readonly randomHex: (bytes: number) => string;
  readonly permits: GatewayPermits;
  generation: RequestGeneration;
  /** Exchanges under way, those included that are being refused. */
  inFlight = 0;
  sequence = 0;

  constructor(parts: GatewayDependencies) {
    this.generation = parts.generation;
    this.randomBytes = parts.randomBytes;
    this.randomHex = hexSource(parts.randomBytes);
    this.clock = parts.clock;
    this.listener = parts.listener;
    this.nextRequestId = parts.nextRequestId;
    this.limiting = parts.limiting;
    const ended = (outcome: HeldOutcome) => parts.limiting.listener.held(outcome);
    this.held = parts.newHeldRequests?.(parts.clock, ended) ?? new HeldRequests(parts.clock, ended);
    this.overload = parts.overload;
    this.unlistedProxies = parts.unlistedProxies;
    this.permits = parts.permits ?? processPermits();
  }
}
