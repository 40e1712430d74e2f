import { OTHER_PARTS } from './bound-limit.ts';
import type { Counters } from './counters.ts';
import type { Allowance, AllowanceReading, AllowanceStore, CountedIn } from './decision.ts';
import type { InFlight } from './in-flight.ts';
import { isSharedRole, type Limit } from './limit-definition.ts';

/** Shows and resets the counters of a memory store. */
export class MemoryAllowances implements AllowanceStore {
  readonly #counters: Counters;
  readonly #inFlight: InFlight;

  constructor(counters: Counters, inFlight: InFlight) {
    this.#counters = counters;
    this.#inFlight = inFlight;
  }

  read(
    limits: readonly Limit[],
    caller: string,
    main: string,
    concurrent: readonly Limit[] = [],
  ): Promise<AllowanceReading> {
    return this.#change(() => ({
      countedIn: 'memory',
      allowances: limits.map(limit => this.#allowanceOf(limit, caller, main)),
      inFlight: concurrent.map(limit => this.#inFlight.count(limit, caller, main)),
    }));
  }

  reset(limits: readonly Limit[], caller: string, main: string | null): Promise<CountedIn> {
    return this.#change(() => {
      const { table, keyspaces } = this.#counters;
      const ofEveryValue = new Set<number>();
      for (const limit of limits) {
        const bound = keyspaces.bind(limit);
        if (limit.role === 'caller' && main === null) ofEveryValue.add(bound.keyspace);
        else bound.drop(...keyOf(limit, caller, main ?? ''));
        if (isSharedRole(limit.role)) continue;
        // The caller may hold the maximum of values: further ones share a counter. Or its network had no room for one.
        bound.drop(caller, OTHER_PARTS);
        const standIn = table.standInOf(caller);
        if (standIn !== null) bound.drop(standIn, OTHER_PARTS);
      }
      if (ofEveryValue.size > 0) table.release(ofEveryValue, caller);
      this.#counters.noteChange();
      return 'memory';
    });
  }

  #change<T>(run: () => T): Promise<T> {
    return this.#counters.memory.soon(() => {
      this.#counters.begin();
      return run();
    });
  }

  #allowanceOf(limit: Limit, caller: string, main: string): Allowance {
    const bound = this.#counters.keyspaces.bind(limit);
    bound.lookAt(...keyOf(limit, caller, main));
    const { remaining, waitMs } = bound;
    return { units: limit.units, remaining, resetAtMs: bound.announce(this.#counters.moment), waitMs };
  }
}

/** The caller and the part under which a limit counts. */
function keyOf({ role }: Limit, caller: string, main: string): readonly [string | null, string] {
  if (isSharedRole(role)) return [null, main];
  return [caller, role === 'global' ? '' : main];
}
