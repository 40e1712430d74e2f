import type { Clock } from '../../core/index.ts';
import { Consumption, OTHER_PARTS } from './consumption.ts';
import { Moment } from './counter.ts';
import type { CounterTable } from './counter-table.ts';
import type { Allowance, AllowanceReading, AllowanceStore, CountedIn } from './decision.ts';
import type { Limit } from './limit-definition.ts';
import type { Keyspaces } from './record-table.ts';

export interface MemoryAllowancesDependencies {
  readonly clock: Clock;
  readonly table: CounterTable;
  readonly keyspaces: Keyspaces;
  readonly keysPerCaller: () => number;
}

/** Shows and resets the counters of a memory store. */
export class MemoryAllowances implements AllowanceStore {
  readonly #dependencies: MemoryAllowancesDependencies;
  readonly #consumption: Consumption;
  readonly #moment = new Moment();

  constructor(dependencies: MemoryAllowancesDependencies) {
    this.#dependencies = dependencies;
    this.#consumption = new Consumption(dependencies.table);
  }

  read(limits: readonly Limit[], caller: string, main: string): AllowanceReading {
    this.#moment.read(this.#dependencies.clock);
    return { countedIn: 'memory', allowances: limits.map(limit => this.#allowanceOf(limit, caller, main)) };
  }

  reset(limits: readonly Limit[], caller: string, main: string | null): CountedIn {
    const { clock, table, keyspaces } = this.#dependencies;
    this.#moment.read(clock);
    const ofEveryValue = new Set<number>();
    for (const limit of limits) {
      const { number } = keyspaces.bind(limit).keyspace;
      const [who, part] = keyOf(limit, caller, main ?? '');
      if (limit.role === 'caller' && main === null) ofEveryValue.add(number);
      else this.#drop(number, who, part);
      // A value beyond those that the caller may hold is counted with others.
      if (limit.role === 'caller') this.#drop(number, caller, OTHER_PARTS);
    }
    if (ofEveryValue.size > 0) table.release(ofEveryValue, caller);
    return 'memory';
  }

  #allowanceOf(limit: Limit, caller: string, main: string): Allowance {
    const { table, keyspaces, keysPerCaller } = this.#dependencies;
    const consumption = this.#consumption;
    const bound = keyspaces.bind(limit);
    const { nowMs } = this.#moment;
    table.begin(nowMs);
    const [who, part] = keyOf(limit, caller, main);
    consumption.look(bound, who, part, keysPerCaller(), nowMs);
    const { counter, waitMs } = consumption;
    return {
      units: limit.units,
      remaining: bound.rule.remaining(counter, limit, nowMs),
      resetAtMs: bound.rule.announce(counter, limit, this.#moment),
      waitMs,
    };
  }

  #drop(keyspace: number, caller: string | null, part: string): void {
    const { table } = this.#dependencies;
    table.begin(this.#moment.nowMs);
    const row = table.find(keyspace, caller, part);
    if (row >= 0) table.close(row);
  }
}

/** The caller and the part that a limit counts under. */
function keyOf({ role }: Limit, caller: string, main: string): readonly [string | null, string] {
  if (role === 'resource') return [null, main];
  return [caller, role === 'global' ? '' : main];
}
