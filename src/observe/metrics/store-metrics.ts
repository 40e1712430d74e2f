import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { DecidedBy, StoreFailure, StoreListener } from '../../core/index.ts';
import { type Tally, tallyCounter } from './tally.ts';

/** What gateways tell each other; read at each scrape. Counts are since the start. */
export interface SharingView {
  /** Restrictions and marks that Redis was not told yet. */
  readonly untold: number;
  /** Restrictions that other gateways began and that nobody here has met. */
  readonly adopted: number;
  /** Offences that only this gateway has counted, for want of room. */
  readonly unshared: number;
}

/** The metrics of the shared store of limits. */
export class StoreMetrics implements StoreListener {
  readonly #registry: Registry;
  readonly #decisions: Tally;
  readonly #failures: Counter<'reason'>;
  readonly #up: Gauge;
  readonly #lost: Counter;
  readonly #clockAhead: Gauge;
  readonly #replicas: Gauge;
  readonly #roundTrip: Histogram;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#registry = registry;
    this.#decisions = tallyCounter({
      name: 'weir_store_decisions_total',
      help: 'Decisions about limits by who made them: redis, a known_refusal of it, or in its place local counters, open or closed.',
      labelNames: ['by'],
      registers,
    });
    this.#failures = new Counter({
      name: 'weir_store_failures_total',
      help: 'Commands that Redis did not do in time, by reason: timeout, disconnected, error.',
      labelNames: ['reason'],
      registers,
    });
    this.#up = new Gauge({
      name: 'weir_store_up',
      help: '1 while Redis decides, 0 while on_failure does. To alert on.',
      registers,
    });
    this.#lost = new Counter({
      name: 'weir_store_lost_total',
      help: 'How often on_failure took over.',
      registers,
    });
    this.#clockAhead = new Gauge({
      name: 'weir_store_clock_ahead_seconds',
      help: "How far Redis' clock is ahead of this gateway's. Limits follow Redis'; beyond 0.5 either is wrong.",
      registers,
    });
    this.#replicas = new Gauge({
      name: 'weir_store_replicas',
      help: 'Gateways that share the limits, as counted in Redis.',
      registers,
    });
    this.#roundTrip = new Histogram({
      name: 'weir_store_round_trip_seconds',
      help: 'Round trips to Redis, measured about once a second.',
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05],
      registers,
    });
  }

  /** Registers what is asked of the sharing at each scrape. */
  observe(sharing: () => SharingView): void {
    const registers = [this.#registry];
    new Gauge({
      name: 'weir_store_untold',
      help: 'Restrictions and not-before marks of this gateway that Redis was not told yet.',
      registers,
      collect() {
        this.set(sharing().untold);
      },
    });
    new Gauge({
      name: 'weir_restrictions_adopted',
      help: 'Restrictions that other gateways began and that have met nobody here yet.',
      registers,
      collect() {
        this.set(sharing().adopted);
      },
    });
    new Counter({
      name: 'weir_store_unshared_offences_total',
      help: 'Offences that only this gateway has counted, since too many offended at once.',
      registers,
      collect() {
        this.reset();
        this.inc(sharing().unshared);
      },
    });
  }

  decidedBy(who: DecidedBy): void {
    this.#decisions.of(who).count++;
  }

  failed(reason: StoreFailure): void {
    this.#failures.inc({ reason });
  }

  lost(): void {
    this.#up.set(0);
    this.#lost.inc();
  }

  found(): void {
    this.#up.set(1);
  }

  beat(roundTripMs: number, clockAheadMs: number, replicas: number): void {
    this.#roundTrip.observe(roundTripMs / 1_000);
    this.#clockAhead.set(clockAheadMs / 1_000);
    this.#replicas.set(replicas);
  }
}
