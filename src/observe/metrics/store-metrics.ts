import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import {
  DECIDED_BY,
  type DecidedBy,
  STORE_FAILURES,
  type StoreFailure,
  type StoreListener,
} from '../../core/index.ts';
import { type Tally, tallyCounter } from './tally.ts';

/** What gateways share, read at each scrape. Counts are since the start. */
export interface SharingView {
  /** Restrictions and revocations not yet written to Redis. */
  readonly untold: number;
  /** Restrictions started by other gateways whose clients have not been seen here. */
  readonly adopted: number;
  /** Offences counted by this gateway alone because the queue was full. */
  readonly unshared: number;
}

const DECISIONS = {
  name: 'weir_store_decisions_total',
  help: 'Limit decisions, by what decided: redis, known_refusal (a remembered refusal of Redis), or the failure policy (local, open, closed).',
  labelNames: ['by'],
} as const;

const FAILURES = {
  name: 'weir_store_failures_total',
  help: 'Redis commands that failed, by reason: timeout, disconnected, error.',
  labelNames: ['reason'],
} as const;

const UP = {
  name: 'weir_store_up',
  help: '1 while Redis counts the limits, 0 while the on_failure policy applies. Alert on 0.',
} as const;

const LOST = {
  name: 'weir_store_lost_total',
  help: 'How often the on_failure policy took over from Redis.',
} as const;

const BEHIND = {
  name: 'weir_store_behind',
  help: '1 while this gateway serves without having read from Redis, since its start, what other gateways have revoked and restricted. Alert on 1.',
} as const;

const SKIPPED = {
  name: 'weir_store_facts_skipped_total',
  help: 'Revocations, restrictions and lifts of other gateways that this one could not apply, through a fault of its own.',
} as const;

const SUBSCRIBED = {
  name: 'weir_store_subscribed',
  help: '1 while Redis sends this gateway the messages of others, 0 while it refuses to, and the gateway polls once a second.',
} as const;

const CLOCK_AHEAD = {
  name: 'weir_store_clock_ahead_seconds',
  help: "How far the clock of Redis is ahead of this gateway's. Limits follow the clock of Redis; beyond 0.5, one of the two is wrong.",
} as const;

const REPLICAS = {
  name: 'weir_store_replicas',
  help: 'Gateways that share the limits, as counted in Redis.',
} as const;

const ROUND_TRIP = {
  name: 'weir_store_round_trip_seconds',
  help: 'Round-trip time to Redis, measured about once a second.',
  buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05],
};

/** The metrics of the shared store of limits. */
export class StoreMetrics implements StoreListener {
  readonly #registry: Registry;
  readonly #decisions: Tally;
  readonly #failures: Counter<'reason'>;
  readonly #up: Gauge;
  readonly #lost: Counter;
  readonly #behind: Gauge;
  readonly #skipped: Counter;
  readonly #subscribed: Gauge;
  readonly #clockAhead: Gauge;
  readonly #replicas: Gauge;
  readonly #roundTrip: Histogram;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#registry = registry;
    this.#decisions = tallyCounter({ ...DECISIONS, registers });
    this.#failures = new Counter({ ...FAILURES, registers });
    this.#up = new Gauge({ ...UP, registers });
    this.#lost = new Counter({ ...LOST, registers });
    this.#behind = new Gauge({ ...BEHIND, registers });
    this.#skipped = new Counter({ ...SKIPPED, registers });
    this.#subscribed = new Gauge({ ...SUBSCRIBED, registers });
    this.#subscribed.set(1);
    this.#clockAhead = new Gauge({ ...CLOCK_AHEAD, registers });
    this.#replicas = new Gauge({ ...REPLICAS, registers });
    this.#roundTrip = new Histogram({ ...ROUND_TRIP, registers });
    for (const who of DECIDED_BY) this.#decisions.of(who);
    for (const reason of STORE_FAILURES) this.#failures.inc({ reason }, 0);
  }

  /** Registers what is read at each scrape. */
  observe(sharing: () => SharingView): void {
    const registers = [this.#registry];
    new Gauge({
      name: 'weir_store_untold',
      help: 'Restrictions and revocations of this gateway not yet written to Redis.',
      registers,
      collect() {
        this.set(sharing().untold);
      },
    });
    new Gauge({
      name: 'weir_restrictions_adopted',
      help: 'Restrictions started by other gateways whose clients have not been seen here yet.',
      registers,
      collect() {
        this.set(sharing().adopted);
      },
    });
    new Counter({
      name: 'weir_store_unshared_offences_total',
      help: 'Offences counted by this gateway alone because too many clients offended at once.',
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

  behind(): void {
    this.#behind.set(1);
  }

  caughtUp(): void {
    this.#behind.set(0);
  }

  shareFailed(skippedFacts: number): void {
    this.#skipped.inc(skippedFacts);
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
