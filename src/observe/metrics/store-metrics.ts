import type { Gauge } from 'prom-client';
import type { DecidedBy, StoreFailure, StoreListener } from '../../core/index.ts';
import type { MetricSet } from './metric-set.ts';
import type { Tally, TallyHistogram } from './tally.ts';

/** What gateways share, read at each scrape. Counts are since the start. */
export interface SharingView {
  /** Restrictions and revocations not yet written to Redis. */
  readonly untold: number;
  /** Restrictions started by other gateways whose clients have not been seen here. */
  readonly adopted: number;
  /** Offences counted by this gateway alone because the queue was full. */
  readonly unshared: number;
}

/** The metrics of the shared store of limits. */
export class StoreMetrics implements StoreListener {
  readonly #set: MetricSet;
  readonly #decisions: Tally;
  readonly #failures: Tally;
  readonly #up: Gauge;
  readonly #lost: Tally;
  readonly #behind: Gauge;
  readonly #skipped: Tally;
  readonly #subscribed: Gauge;
  readonly #clockAhead: Gauge;
  readonly #replicas: Gauge;
  readonly #roundTrip: TallyHistogram;

  constructor(set: MetricSet) {
    this.#set = set;
    this.#decisions = set.counter('weir_store_decisions_total');
    this.#failures = set.counter('weir_store_failures_total');
    this.#up = set.gauge('weir_store_up');
    this.#lost = set.counter('weir_store_lost_total');
    this.#behind = set.gauge('weir_store_behind');
    this.#skipped = set.counter('weir_store_facts_skipped_total');
    this.#subscribed = set.gauge('weir_store_subscribed');
    this.#subscribed.set(1);
    this.#clockAhead = set.gauge('weir_store_clock_ahead_seconds');
    this.#replicas = set.gauge('weir_store_replicas');
    this.#roundTrip = set.histogram('weir_store_round_trip_seconds');
  }

  /** Registers what is read at each scrape. */
  observe(sharing: () => SharingView): void {
    this.#set.read('weir_store_untold', () => sharing().untold);
    this.#set.read('weir_restrictions_adopted', () => sharing().adopted);
    this.#set.read('weir_store_unshared_offences_total', () => sharing().unshared);
  }

  decidedBy(who: DecidedBy): void {
    this.#decisions.of(who).count++;
  }

  failed(reason: StoreFailure): void {
    this.#failures.of(reason).count++;
  }

  lost(): void {
    this.#up.set(0);
    this.#lost.count++;
  }

  found(): void {
    this.#up.set(1);
  }

  behind(): void {
    this.#behind.set(1);
  }

  caughtUp(): void {
    this.#behind.set(0);
  }

  shareFailed(skippedFacts: number): void {
    this.#skipped.count += skippedFacts;
  }

  subscribed(refusal: string | null): void {
    this.#subscribed.set(refusal === null ? 1 : 0);
  }

  beat(roundTripMs: number, clockAheadMs: number, replicas: number): void {
    this.#roundTrip.observe(roundTripMs / 1_000);
    this.#clockAhead.set(clockAheadMs / 1_000);
    this.#replicas.set(replicas);
  }
}
