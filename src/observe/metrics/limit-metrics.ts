import { Counter, Gauge, type Registry } from 'prom-client';
import type { DecisionEvent, LimitListener, RestrictionEvent } from '../../core/index.ts';
import { type Tally, tallyCounter } from './tally.ts';

/** What a store of counters holds; read at each scrape. Counts are since the start. */
export interface StoreView {
  readonly keys: number;
  readonly evictions: number;
  readonly callerOverflows: number;
  readonly sharedOverflows: number;
}

/** The metrics of limits and restrictions. Labels name buckets as configured and short fixed lists, never callers. */
export class LimitMetrics implements LimitListener {
  readonly #registry: Registry;
  readonly #decisions: Tally;
  readonly #nearLimit: Tally;
  readonly #invalid: Tally;
  readonly #restrictions: Counter<'kind' | 'reason'>;
  readonly #restricted: Gauge<'kind'>;
  readonly #noRoom: Counter<'kind'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#registry = registry;
    this.#decisions = tallyCounter({
      name: 'weir_limit_decisions_total',
      help: 'Requests decided, by bucket ("none": no bucket), caller class and outcome: admitted, or the limit that refused.',
      labelNames: ['bucket', 'class', 'outcome'],
      registers,
    });
    this.#nearLimit = tallyCounter({
      name: 'weir_limit_near_total',
      help: 'Requests admitted with four fifths of their limit used.',
      labelNames: ['bucket', 'class'],
      registers,
    });
    this.#invalid = tallyCounter({
      name: 'weir_invalid_requests_total',
      help: 'Requests that ended invalid and count against their address.',
      labelNames: ['status'],
      registers,
    });
    this.#restrictions = new Counter({
      name: 'weir_restrictions_total',
      help: 'Restrictions begun, by kind (address, principal, webhook) and reason.',
      labelNames: ['kind', 'reason'],
      registers,
    });
    this.#restricted = new Gauge({
      name: 'weir_restricted',
      help: 'Restrictions that run now.',
      labelNames: ['kind'],
      registers,
    });
    this.#noRoom = new Counter({
      name: 'weir_restrictions_without_room_total',
      help: 'Restrictions that were earned and not imposed for want of room. To alert on.',
      labelNames: ['kind'],
      registers,
    });
  }

  /** Registers what is asked of the store at each scrape. */
  observe(store: () => StoreView): void {
    const registers = [this.#registry];
    new Gauge({
      name: 'weir_limit_keys',
      help: 'Counters held.',
      registers,
      collect() {
        this.set(store().keys);
      },
    });
    sinceStart(
      registers,
      'weir_limit_keys_evicted_total',
      'Counters in use that gave way for want of room. To alert on.',
      () => store().evictions,
    );
    sinceStart(
      registers,
      'weir_limit_caller_overflows_total',
      'Requests decided by the one counter that a caller with too many keys has left.',
      () => store().callerOverflows,
    );
    sinceStart(
      registers,
      'weir_limit_shared_overflows_total',
      'Requests decided by the counter that all share when the store is full.',
      () => store().sharedOverflows,
    );
  }

  decided({ bucket, callerClass, outcome, nearLimit }: DecisionEvent): void {
    const name = bucket ?? 'none';
    this.#decisions.of(name).of(callerClass).of(outcome).count++;
    if (nearLimit && outcome === 'admitted') this.#nearLimit.of(name).of(callerClass).count++;
  }

  invalid(status: number): void {
    this.#invalid.of(String(status)).count++;
  }

  restricted({ kind, reason }: RestrictionEvent): void {
    this.#restrictions.inc({ kind, reason });
    this.#restricted.inc({ kind });
  }

  released({ kind }: RestrictionEvent): void {
    this.#restricted.dec({ kind });
  }

  noRoom({ kind }: RestrictionEvent): void {
    this.#noRoom.inc({ kind });
  }
}

/** A counter whose value somebody else keeps. */
function sinceStart(registers: Registry[], name: string, help: string, value: () => number): void {
  new Counter({
    name,
    help,
    registers,
    collect() {
      this.reset();
      this.inc(value());
    },
  });
}
