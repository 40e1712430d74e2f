import type { Clock } from '../../../core/index.ts';
import type { Allowance, AllowanceReading, AllowanceStore, CountedIn, Limit } from '../../index.ts';
import { isSharedRole } from '../../index.ts';
import {
  type Argument,
  type Health,
  type RedisConnection,
  RedisError,
  type RedisScript,
  readNumbers,
  replyTo,
  unexpectedReply,
} from '../connection/index.ts';
import { DECIDE, HOLD } from './counter-scripts.ts';
import type { Fallback } from './fallback.ts';
import type { Keys } from './keys.ts';
import { textOf } from './plan.ts';
import { MODE, STEP } from './script-words.ts';

export interface RedisAllowancesDependencies {
  readonly connection: Pick<RedisConnection, 'run'>;
  readonly health: Pick<Health, 'isShared' | 'failed' | 'mention'>;
  readonly keys: Keys;
  readonly fallback: Fallback;
  readonly keysPerCaller: () => number;
  readonly clock: Clock;
}

/** How many limits one command reads: few enough to block Redis for less than a millisecond. */
const PORTION = 100;

/** Shows and resets the counters in Redis, or those that replace them while it is unavailable. */
export class RedisAllowances implements AllowanceStore {
  readonly #dependencies: RedisAllowancesDependencies;

  constructor(dependencies: RedisAllowancesDependencies) {
    this.#dependencies = dependencies;
  }

  async read(
    limits: readonly Limit[],
    caller: string,
    main: string,
    concurrent: readonly Limit[] = [],
  ): Promise<AllowanceReading | null> {
    const { health, fallback } = this.#dependencies;
    if (health.isShared) {
      try {
        const portions = portionsOf(limits).map(portion => this.#readPortion(portion, caller, main));
        const inFlight = portionsOf(concurrent).map(portion => this.#countLeases(portion, caller, main));
        return {
          countedIn: 'redis',
          allowances: (await Promise.all(portions)).flat(),
          inFlight: (await Promise.all(inFlight)).flat(),
        };
      } catch (error) {
        // What Redis refuses is not counted elsewhere.
        if (this.#isRefused(error, 'read what is left')) return null;
      }
    }
    return fallback.allowances?.read(limits, caller, main, concurrent) ?? null;
  }

  async reset(limits: readonly Limit[], caller: string, main: string | null): Promise<CountedIn | null> {
    const { health, fallback } = this.#dependencies;
    const local = (await fallback.allowances?.reset(limits, caller, main)) ?? null;
    if (!health.isShared) return local;
    try {
      await Promise.all(portionsOf(limits).map(portion => this.#resetPortion(portion, caller, main)));
      return 'redis';
    } catch (error) {
      this.#isRefused(error, 'reset counters');
      return null;
    }
  }

  /** Reports a failure, and returns whether Redis itself refused. */
  #isRefused(error: unknown, task: string): boolean {
    const { health } = this.#dependencies;
    const failure = RedisError.of(error);
    if (failure.failure === 'error') health.mention(failure, task);
    else health.failed(failure);
    return failure.failure === 'error';
  }

  async #readPortion(limits: readonly Limit[], caller: string, main: string): Promise<Allowance[]> {
    const { keys, keysPerCaller, clock } = this.#dependencies;
    const [first] = limits;
    const isShared = first !== undefined && isSharedRole(first.role);
    const names = isShared ? [keys.shared(first, main)] : this.#ownKeys(limits, caller, main);
    const text = textOf(limits, clock.epochMs());
    const left = await this.#run(DECIDE, names, [text, MODE.read, STEP.whole, keysPerCaller(), 1]);
    return limits.map(({ units }, at) => {
      const [remaining, resetAtMs, waitMs] = left.slice(3 * at);
      if (remaining === undefined || resetAtMs === undefined || waitMs === undefined)
        throw unexpectedReply(NAME);
      return { units, remaining, resetAtMs, waitMs };
    });
  }

  async #countLeases(limits: readonly Limit[], caller: string, main: string): Promise<readonly number[]> {
    const { keys } = this.#dependencies;
    const own = keys.caller(caller);
    const counts = await this.#run(
      HOLD,
      limits.map(limit => keys.leases(own, limit, main)),
      [MODE.count],
    );
    if (counts.length === limits.length) return counts;
    throw unexpectedReply(NAME);
  }

  /** The keys of a caller, in the order of the scripts. */
  #ownKeys(limits: readonly Limit[], caller: string, main: string): string[] {
    const { keys } = this.#dependencies;
    const own = keys.caller(caller);
    const counters = limits.map(limit =>
      limit.role === 'global' ? keys.global(own, limit) : keys.own(own, limit, main),
    );
    if (main === '') return counters;
    const others = limits.filter(({ role }) => role === 'caller').map(limit => keys.others(own, limit));
    return others.length === 0 ? counters : [...counters, keys.parts(own), ...others];
  }

  async #resetPortion(limits: readonly Limit[], caller: string, main: string | null): Promise<void> {
    const { keys } = this.#dependencies;
    const [first] = limits;
    if (first !== undefined && isSharedRole(first.role)) {
      await this.#run(HOLD, [keys.shared(first, main ?? '')], [MODE.drop]);
      return;
    }
    const own = keys.caller(caller);
    const counted = limits.filter(({ role }) => role === 'caller');
    // The caller may hold the maximum of values: further ones share a counter.
    const counters = counted.flatMap(limit => [keys.own(own, limit, main ?? ''), keys.others(own, limit)]);
    const global = limits.filter(({ role }) => role === 'global').map(limit => keys.global(own, limit));
    const starts = main === '' ? [] : counted.map(limit => keys.own(own, limit, main ?? ''));
    const names = [...global, ...counters, ...(starts.length > 0 ? [keys.parts(own)] : [])];
    await this.#run(HOLD, names, [MODE.drop, ...starts]);
  }

  /** Runs a script. Resolves to the numbers after the format. */
  async #run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly Argument[],
  ): Promise<readonly number[]> {
    const reply = await replyTo(reply => this.#dependencies.connection.run(script, keys, args, reply));
    const numbers = readNumbers(reply, NAME);
    if (numbers instanceof RedisError) throw numbers;
    return numbers.slice(1);
  }
}

const NAME = 'allowance';

/**
 * Splits limits into portions, in order. A shared one has its own, since in a cluster it may be anywhere; the caller's own are in
 * one place.
 */
function portionsOf(limits: readonly Limit[]): Limit[][] {
  const portions: Limit[][] = [];
  for (const limit of limits) {
    const last = portions.at(-1);
    const isApart = isSharedRole(limit.role) || isSharedRole(last?.[0]?.role ?? 'caller');
    if (last === undefined || isApart || last.length === PORTION) portions.push([limit]);
    else last.push(limit);
  }
  return portions;
}
