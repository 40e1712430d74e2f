import type { Snapshot, UpstreamModel } from '../config/index.ts';
import type { Clock, ExchangeListener } from '../core/index.ts';
import type { Transport } from '../upstream/index.ts';
import type { Identity } from './identity.ts';
import type { Limiting } from './limiting.ts';
import { Permits } from './permits.ts';
import { RestrictionAnswers } from './restriction-answers.ts';

/** What a gateway is made of. */
export interface GatewayParts {
  readonly snapshot: Snapshot;
  readonly clock: Clock;
  readonly listener: ExchangeListener;
  readonly nextRequestId: () => string;
  /** The transport to an upstream of the snapshot. */
  readonly transportOf: (upstream: UpstreamModel) => Transport;
  /** Null: no identity provider is configured, and every route says `authentication: none`. */
  readonly identity: Identity | null;
  readonly limiting: Limiting;
}

/** What outlives an exchange: counters, and the configuration that the next one begins with. */
export class GatewayState {
  readonly clock: Clock;
  readonly listener: ExchangeListener;
  readonly nextRequestId: () => string;
  readonly transportOf: (upstream: UpstreamModel) => Transport;
  readonly identity: Identity | null;
  readonly limiting: Limiting;
  readonly restrictionAnswers = new RestrictionAnswers();
  readonly addressPermits = new Permits();
  readonly upstreamPermits = new Permits();
  snapshot: Snapshot;
  inFlight = 0;
  sequence = 0;

  constructor(parts: GatewayParts) {
    this.snapshot = parts.snapshot;
    this.clock = parts.clock;
    this.listener = parts.listener;
    this.nextRequestId = parts.nextRequestId;
    this.transportOf = parts.transportOf;
    this.identity = parts.identity;
    this.limiting = parts.limiting;
  }
}
