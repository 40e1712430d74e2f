import type { Gauge } from 'prom-client';
import type {
  DecisionEvent,
  EvictionEvent,
  HeldOutcome,
  LimitListener,
  RestrictionEvent,
  RestrictionRefusal,
  ShadowEvent,
} from '../../core/index.ts';
import type { MetricSet } from './metric-set.ts';
import type { Tally } from './tally.ts';

/** What a store holds, read at each scrape. Counts are since the start. */
export interface StoreView {
  readonly keys: number;
  readonly callerOverflows: number;
  readonly partitions: readonly PartitionView[];
}

/** Counters that compete for room with each other alone. */
export interface PartitionView {
  /** The bucket as configured; '' for the global limit. */
  readonly bucket: string;
  readonly role: 'global' | 'caller' | 'resource';
  readonly evictions: number;
  readonly overflows: number;
}

/** The metrics of limits and restrictions. Labels name buckets as configured and short fixed lists, never callers. */
export class LimitMetrics implements LimitListener {
  /** Decisions by bucket, class and outcome. */
  readonly decisions: Tally;
  /** Requests that limits in shadow would have refused: by bucket, class and limit. */
  readonly inShadow: Tally;
  /** Requests that restrictions and blocks refused: by class and reason. */
  readonly byRestriction: Tally;
  readonly #set: MetricSet;
  readonly #nearLimit: Tally;
  readonly #held: Tally;
  readonly #invalid: Tally;
  readonly #restrictions: Tally;
  readonly #shadowRestrictions: Tally;
  readonly #restricted: Gauge<string>;
  readonly #evicted: Tally;

  constructor(set: MetricSet) {
    this.#set = set;
    this.decisions = set.counter('weir_limit_decisions_total');
    this.byRestriction = set.counter('weir_restriction_refusals_total');
    this.#nearLimit = set.counter('weir_limit_near_total');
    this.#held = set.counter('weir_limit_held_total');
    this.inShadow = set.counter('weir_shadow_refused_total');
    this.#invalid = set.counter('weir_invalid_requests_total');
    this.#restrictions = set.counter('weir_restrictions_total');
    this.#shadowRestrictions = set.counter('weir_shadow_restrictions_total');
    this.#restricted = set.gauge('weir_restricted');
    this.#evicted = set.counter('weir_restrictions_evicted_total');
  }

  /** Registers what is read at each scrape. Counters of limits in shadow count with those of limits that hold. */
  observe(store: () => StoreView): void {
    const byPartition = (count: (partition: PartitionView) => number) =>
      store().partitions.map(partition => {
        const { bucket, role } = partition;
        return [{ bucket: bucket || 'none', limit: role }, count(partition)] as const;
      });
    this.#set.read('weir_limit_keys', () => store().keys);
    this.#set.read('weir_limit_caller_overflows_total', () => store().callerOverflows);
    this.#set.read('weir_limit_keys_evicted_total', () => byPartition(({ evictions }) => evictions));
    this.#set.read('weir_limit_shared_overflows_total', () => byPartition(({ overflows }) => overflows));
  }

  decided({ bucket, callerClass, outcome, nearLimit }: DecisionEvent): void {
    const name = bucket ?? 'none';
    this.decisions.of(name).of(callerClass).of(outcome).count++;
    if (nearLimit && outcome === 'admitted') this.#nearLimit.of(name).of(callerClass).count++;
  }

  refusedByRestriction({ callerClass, why }: RestrictionRefusal): void {
    this.byRestriction.of(callerClass).of(why).count++;
  }

  shadowRefused({ bucket, callerClass, by }: ShadowEvent): void {
    this.inShadow
      .of(bucket ?? 'none')
      .of(callerClass)
      .of(by).count++;
  }

  held(outcome: HeldOutcome): void {
    this.#held.of(outcome).count++;
  }

  shadowRestricted({ kind, reason }: RestrictionEvent): void {
    this.#shadowRestrictions.of(kind).of(reason).count++;
  }

  invalid(status: number): void {
    this.#invalid.of(String(status)).count++;
  }

  restricted({ kind, reason }: RestrictionEvent): void {
    this.#restrictions.of(kind).of(reason).count++;
    this.#restricted.inc({ kind });
  }

  prolonged(): void {
    // It is counted already.
  }

  released({ kind }: RestrictionEvent): void {
    this.#restricted.dec({ kind });
  }

  evicted({ kind, key, table }: EvictionEvent): void {
    this.#evicted.of(table).count++;
    if (key !== null) this.#restricted.dec({ kind });
  }
}
