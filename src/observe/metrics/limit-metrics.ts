import { Counter, Gauge, type Registry } from 'prom-client';
import {
  type DecisionEvent,
  type EvictionEvent,
  HELD_OUTCOMES,
  type HeldOutcome,
  type LimitListener,
  RESTRICTED_KINDS,
  RESTRICTION_REASONS,
  RESTRICTION_TABLES,
  RESTRICTS,
  type RestrictionEvent,
  type RestrictionReason,
  type RestrictionRefusal,
  type ShadowEvent,
} from '../../core/index.ts';
import { type LabelModel, prepareSeries } from './label-model.ts';
import { type Tally, tallyCounter } from './tally.ts';

/** What a store holds, read at each scrape. Counts are since the start. */
export interface StoreView {
  readonly keys: number;
  readonly callerOverflows: number;
  readonly partitions: readonly PartitionView[];
}

/** Counters that compete for room with each other alone. */
export interface PartitionView {
  /** Empty for the global limit. */
  readonly bucket: string;
  readonly role: 'global' | 'caller' | 'resource';
  readonly evictions: number;
  readonly overflows: number;
}

const DECISIONS = {
  name: 'weir_limit_decisions_total',
  help: 'Limit decisions, by bucket ("none" without one), caller class and outcome: admitted, or the limit that refused.',
  labelNames: ['bucket', 'class', 'outcome'],
} as const;

const RESTRICTION_REFUSALS = {
  name: 'weir_restriction_refusals_total',
  help: 'Requests that a restriction or "blocked" refused before their limits were asked, by caller class and reason.',
  labelNames: ['class', 'reason'],
} as const;

const NEAR_LIMIT = {
  name: 'weir_limit_near_total',
  help: 'Requests admitted with at least 80 % of their limit used.',
  labelNames: ['bucket', 'class'],
} as const;

const SHADOW_REFUSED = {
  name: 'weir_shadow_refused_total',
  help: 'Requests served that a limit or restriction in shadow would have refused, by bucket ("none" without one), caller class and what it is.',
  labelNames: ['bucket', 'class', 'limit'],
} as const;

const HELD = {
  name: 'weir_limit_held_total',
  help: 'Requests that "patience" held or could have held, by outcome; no_room: decided at once because too many were held.',
  labelNames: ['outcome'],
} as const;

const INVALID = {
  name: 'weir_invalid_requests_total',
  help: 'Requests that count as invalid against their address, by status.',
  labelNames: ['status'],
} as const;

const INVALID_STATUSES = ['401', '403', '429'];

const RESTRICTIONS_STARTED = {
  name: 'weir_restrictions_total',
  help: 'Restrictions started, by kind (address, principal, webhook) and reason.',
  labelNames: ['kind', 'reason'],
} as const;

const SHADOW_RESTRICTIONS = {
  name: 'weir_shadow_restrictions_total',
  help: 'Restrictions that rules in shadow would have started, by kind and reason.',
  labelNames: ['kind', 'reason'],
} as const;

const RESTRICTED = {
  name: 'weir_restricted',
  help: 'Restrictions in force now.',
  labelNames: ['kind'],
} as const;

const EVICTED = {
  name: 'weir_restrictions_evicted_total',
  help: 'Restrictions that ended early because their table (operator, principal, address, webhook) was full. Alert on this.',
  labelNames: ['table'],
} as const;

/** The metrics of limits and restrictions. Labels name buckets as configured and short fixed lists, never callers. */
export class LimitMetrics implements LimitListener {
  /** By bucket, class and outcome. */
  readonly decisions: Tally;
  /** Requests that limits in shadow would have refused: by bucket, class and limit. */
  readonly inShadow: Tally;
  /** Requests that restrictions and blocks refused: by class and reason. */
  readonly byRestriction: Tally;
  readonly #registry: Registry;
  readonly #nearLimit: Tally;
  readonly #held: Counter<'outcome'>;
  readonly #invalid: Tally;
  readonly #restrictions: Counter<'kind' | 'reason'>;
  readonly #shadowRestrictions: Counter<'kind' | 'reason'>;
  readonly #restricted: Gauge<'kind'>;
  readonly #evicted: Counter<'table'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#registry = registry;
    this.decisions = tallyCounter({ ...DECISIONS, registers });
    this.byRestriction = tallyCounter({ ...RESTRICTION_REFUSALS, registers });
    this.#nearLimit = tallyCounter({ ...NEAR_LIMIT, registers });
    this.#held = new Counter({ ...HELD, registers });
    this.inShadow = tallyCounter({ ...SHADOW_REFUSED, registers });
    this.#invalid = tallyCounter({ ...INVALID, registers });
    this.#restrictions = new Counter({ ...RESTRICTIONS_STARTED, registers });
    this.#shadowRestrictions = new Counter({ ...SHADOW_RESTRICTIONS, registers });
    this.#restricted = new Gauge({ ...RESTRICTED, registers });
    this.#evicted = new Counter({ ...EVICTED, registers });
    for (const outcome of HELD_OUTCOMES) this.#held.inc({ outcome }, 0);
    for (const status of INVALID_STATUSES) this.#invalid.of(status);
    for (const reason of RESTRICTION_REASONS)
      for (const kind of RESTRICTS[reason]) {
        this.#restrictions.inc({ kind, reason }, 0);
        if (reason !== 'operator') this.#shadowRestrictions.inc({ kind, reason }, 0);
      }
    for (const kind of RESTRICTED_KINDS) this.#restricted.inc({ kind }, 0);
    for (const table of RESTRICTION_TABLES) this.#evicted.inc({ table }, 0);
  }

  /** Follows the configuration: shows the series of its buckets, and drops those of others. */
  use({ buckets }: LabelModel): void {
    const decisions = buckets.flatMap(({ bucket, callerClass, outcomes }) =>
      outcomes.map(outcome => [bucket, callerClass, outcome]),
    );
    prepareSeries(this.decisions, decisions, 0);
    prepareSeries(
      this.inShadow,
      buckets.flatMap(({ bucket, callerClass, inShadow }) => inShadow.map(by => [bucket, callerClass, by])),
      0,
    );
    prepareSeries(
      this.byRestriction,
      [...new Set(buckets.map(({ callerClass }) => callerClass))].flatMap(callerClass =>
        refusalsOf(callerClass).map(why => [callerClass, why]),
      ),
      0,
    );
    prepareSeries(
      this.#nearLimit,
      buckets.map(({ bucket, callerClass }) => [bucket, callerClass]),
      0,
    );
  }

  /** Registers what is read at each scrape. */
  observe(store: () => StoreView): void {
    const registers = [this.#registry];
    new Gauge({
      name: 'weir_limit_keys',
      help: 'Counters held in memory.',
      registers,
      collect() {
        this.set(store().keys);
      },
    });
    new Counter({
      name: 'weir_limit_caller_overflows_total',
      help: 'Requests decided by the one counter that a caller shares among the keys beyond its maximum.',
      registers,
      collect() {
        this.reset();
        this.inc(store().callerOverflows);
      },
    });
    byPartition(
      registers,
      'weir_limit_keys_evicted_total',
      'Counters evicted before their reset because their table was full, by bucket ("none" for the global limit) and limit. Alert on this.',
      () => store().partitions.map(partition => [partition, partition.evictions]),
    );
    byPartition(
      registers,
      'weir_limit_shared_overflows_total',
      'Decisions by the counter that all callers share while their table is full of exhausted ones, by bucket ("none" for the global limit) and limit. Alert on this.',
      () => store().partitions.map(partition => [partition, partition.overflows]),
    );
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
    this.#held.inc({ outcome });
  }

  shadowRestricted({ kind, reason }: RestrictionEvent): void {
    this.#shadowRestrictions.inc({ kind, reason });
  }

  invalid(status: number): void {
    this.#invalid.of(String(status)).count++;
  }

  restricted({ kind, reason }: RestrictionEvent): void {
    this.#restrictions.inc({ kind, reason });
    this.#restricted.inc({ kind });
  }

  prolonged(): void {
    // It is counted already.
  }

  released({ kind }: RestrictionEvent): void {
    this.#restricted.dec({ kind });
  }

  evicted({ kind, key, table }: EvictionEvent): void {
    this.#evicted.inc({ table });
    if (key !== null) this.#restricted.dec({ kind });
  }
}

/** Why a restriction or a block may refuse requests of a class of callers. Every restriction of a webhook refuses an address. */
function refusalsOf(callerClass: string): readonly RestrictionRefusal['why'][] {
  const concerns = (reason: RestrictionReason) =>
    callerClass === 'address' || RESTRICTS[reason].some(kind => kind === 'principal');
  return [...RESTRICTION_REASONS.filter(concerns), 'blocked'];
}

/** Registers a counter whose values are kept elsewhere. Numbers that are tried count with those that hold. */
function byPartition(
  registers: Registry[],
  name: string,
  help: string,
  values: () => readonly (readonly [PartitionView, number])[],
): void {
  new Counter({
    name,
    help,
    labelNames: ['bucket', 'limit'],
    registers,
    collect() {
      this.reset();
      for (const [{ bucket, role }, value] of values())
        this.inc({ bucket: bucket || 'none', limit: role }, value);
    },
  });
}
