import { randomBytes } from 'node:crypto';
import {
  type Decision,
  defineConcurrency,
  defineLimit,
  groupCounterKey,
  isSharedRole,
  LIMIT_ROLES,
  type Limit,
  type LimitAlgorithm,
  type LimitRole,
  type LimitSet,
  MemoryStore,
  NO_LIMITS,
  type Place,
  unitsTaken,
} from '../../../src/limits/index.ts';
import { FrozenClock } from './frozen-clock.ts';
import { type NaiveDecision, NaiveLimiter, type Who } from './naive-limiter.ts';
import { copyOf, windowIn } from './stores.ts';

const PERIODS_MS = [1_000, 2_000, 3_000, 60_000];
const CALLERS = ['user:a', 'user:b', 'address:192.0.2.1'];
const MAINS = ['c1', 'c2', 'c3'];
const GROUPS = ['acme', 'initech'];

/** What a history asks of a store. */
export type AskedStore = Pick<MemoryStore, 'decide' | 'peek' | 'refund'>;

/** Puts something between a history and its store, to hear what is asked and answered. */
export type Wrap = (store: MemoryStore, clock: FrozenClock) => AskedStore;

interface Told {
  readonly resetAtMs: number;
  /** The same moment by the monotonic clock. */
  readonly untilMs: number;
}

/**
 * One history: a configuration, and requests, their ends, waits, refunds, reloads and steps of the wall clock, each encoded as a number. The
 * store must decide as the naive limiter does, and keep the promises made to clients.
 */
export class History {
  readonly #clock = new FrozenClock();
  readonly #store: AskedStore;
  readonly #naive = new NaiveLimiter();
  readonly #algorithm: LimitAlgorithm;
  /** Of any request; half of the histories know no costs. */
  readonly #largestCost: number;
  /** Whether callers and groups have quotas of costs, which in windows are only known once a request is over. */
  readonly #countsCosts: boolean;
  readonly #bits: Bits;
  #sets: readonly LimitSet[];
  #stepped = false;
  #lastResetAfterMs = 0;
  /** The requests that hold a place among those in flight. */
  readonly #running: { readonly place: Place; readonly id: number }[] = [];
  readonly #units: {
    readonly limit: Limit;
    readonly part: string;
    readonly caller: string;
    readonly window: number;
    readonly id: number;
    readonly cost: number;
  }[] = [];
  readonly #told = new Map<string, Told>();
  readonly #draws = new Map<string, number[]>();
  readonly #refunded = new Set<string>();

  constructor(configuration: number, wrap: Wrap = store => store) {
    this.#store = wrap(new MemoryStore({ clock: this.#clock, randomBytes, maxKeys: 64 }), this.#clock);
    this.#bits = new Bits(configuration);
    this.#algorithm = this.#bits.take(2) === 1 ? 'smooth' : 'window';
    this.#largestCost = [1, 1, 2, 4][configuration % 4] ?? 1;
    this.#countsCosts = Math.floor(configuration / 4) % 2 === 1;
    this.#sets = this.#configure(new Bits(configuration));
  }

  run(steps: readonly number[]): void {
    for (const step of steps) this.#step(new Bits(step));
  }

  #configure(bits: Bits, moreUnits = 0): LimitSet[] {
    bits.take(2);
    const windowSlackMs = [20, 20, 50, 5][bits.take(4)] ?? 20;
    const make = (role: LimitRole, algorithm: LimitAlgorithm, units: number, isTrial = false) => {
      const periodMs = PERIODS_MS[bits.take(4)] ?? 1_000;
      const isOfCosts = this.#countsCosts && (role === 'caller' || role === 'group');
      const quota = {
        ...{ units: Math.max(1, units + moreUnits), periodMs },
        unit: isOfCosts ? ('cost' as const) : undefined,
      };
      const claim = role === 'group' ? { claim: 'organization' } : {};
      return defineLimit({
        ...{ role, bucket: 'b', main: 'm', algorithm, quota, windowSlackMs, isTrial },
        ...claim,
        largestCost: this.#largestCost,
        ...{ hasCostQuota: this.#countsCosts, isPriced: algorithm === 'window' },
      });
    };
    const global = make('global', 'window', 1 + bits.take(16));
    // A limit of hundreds a second has steps that are shorter than a client's rounding.
    const caller = make('caller', this.#algorithm, bits.take(8) === 7 ? 997 : 1 + bits.take(6));
    const resource = make('resource', this.#algorithm, 1 + bits.take(8));
    const trials = {
      concurrent: null,
      global: make('global', 'window', 1 + bits.take(4), true),
      caller: make('caller', this.#algorithm, 1 + bits.take(4), true),
      resource: make('resource', this.#algorithm, 1 + bits.take(4), true),
      group: make('group', this.#algorithm, 1 + bits.take(4), true),
    };
    const group = make('group', this.#algorithm, 1 + bits.take(8));
    const concurrent = defineConcurrency('b', 'm', Math.max(1, 1 + bits.take(3) + moreUnits));
    // The number of another class. With a smooth limit the naive limiter would not divide as the store does.
    const partner = this.#algorithm === 'window' ? { ...caller, units: caller.units + 2 } : caller;
    return [
      { ...NO_LIMITS, global, caller, resource },
      { ...NO_LIMITS, global, caller },
      { ...NO_LIMITS, global, resource },
      { ...NO_LIMITS, caller, resource },
      { ...NO_LIMITS, caller },
      { ...NO_LIMITS, resource },
      { ...NO_LIMITS, global },
      { ...NO_LIMITS, global, caller, group, resource, shadow: trials },
      { ...NO_LIMITS, global, caller, group },
      { ...NO_LIMITS, caller, group, resource },
      { ...NO_LIMITS, group },
      { ...NO_LIMITS, group, resource },
      // The same counters as where they hold: a bucket moves in and out of shadow.
      { ...NO_LIMITS, global, shadow: { ...NO_LIMITS, caller, group, resource } },
      { ...NO_LIMITS, caller, shadow: { ...trials, global, caller: null } },
      { ...NO_LIMITS, global, caller: partner, group },
      { ...NO_LIMITS, caller: partner, resource, concurrent },
      { ...NO_LIMITS, caller, concurrent },
      { ...NO_LIMITS, resource, group, concurrent },
      { ...NO_LIMITS, concurrent, shadow: trials },
      { ...NO_LIMITS, global, shadow: { ...NO_LIMITS, caller, resource, concurrent } },
    ];
  }

  #step(bits: Bits): void {
    const action = bits.take(18);
    this.#passTime(bits);
    const set = this.#sets[bits.take(this.#sets.length)];
    const caller = CALLERS[bits.take(3)];
    const main = MAINS[bits.take(3)];
    const group = GROUPS[bits.take(2)];
    if (set === undefined || caller === undefined || main === undefined || group === undefined)
      throw new Error('a number out of range');
    const who = { caller, main, group, cost: 1 + bits.take(this.#largestCost) };
    if (action < 6) this.#decide(set, who);
    else if (action < 9) for (let i = 0; i < 5; i++) this.#decide(set, who);
    else if (action < 11) this.#waitAsTold(set, who, bits);
    else if (action < 12) this.#stepWorld(bits);
    else if (action < 14) this.#refund(bits);
    else if (action < 15)
      this.#compare(this.#ask('peek', set, who), this.#naive.peek(set, who, this.#nowMs), set);
    else if (action < 17) this.#end(bits.take(8));
    else if (this.#algorithm === 'window') {
      this.#sets = this.#configure(this.#bits.again(), bits.take(5) - 2);
      this.#told.clear();
    }
  }

  #passTime(bits: Bits): void {
    const kind = bits.take(8);
    const amount = bits.take(1024);
    if (kind < 3) return;
    if (kind === 3) this.#clock.advance((amount % 50) / 10);
    else if (kind === 4) this.#clock.advance(amount);
    else if (kind === 5) this.#clock.advance(amount * 4.3);
    else this.#clock.advance(Math.max(0, this.#lastResetAfterMs + (amount % 60) - 40));
  }

  #decide(set: LimitSet, who: Who): Decision {
    const before = this.#nowMs;
    const decision = copyOf(this.#ask('decide', set, who));
    this.#compare(decision, this.#naive.decide(set, who, before), set);
    if (decision.role !== null) this.#lastResetAfterMs = decision.resetAfterMs;
    if (decision.admitted) this.#admitted(decision, set, who);
    else this.#drewNothing(set, who);
    this.#checkReset(decision, set, who);
    return decision;
  }

  #ask(kind: 'decide' | 'peek', set: LimitSet, { caller, main, group, cost }: Who): Decision {
    return this.#store[kind](set, caller, main, group, cost);
  }

  #compare(decision: Decision, expected: NaiveDecision, set: LimitSet): void {
    const { admitted, role, limit, remaining, resetAfterMs, retryAfterMs } = decision;
    // Not by `expect`, which takes longer than all the rest.
    const same =
      admitted === expected.admitted &&
      role === expected.role &&
      limit === expected.limit &&
      remaining === expected.remaining &&
      resetAfterMs === expected.resetAfterMs &&
      retryAfterMs === expected.retryAfterMs &&
      decision.atOnce === expected.atOnce &&
      decision.shadow.refused.join() === expected.shadow.join();
    if (!same) throw new Error(`${JSON.stringify(decision)} in place of ${JSON.stringify(expected)}`);
    if (role === null) return;
    // Reset and Reset-After tell one moment, as far as the wall clock can be believed.
    const apartMs = Math.abs(decision.resetAtMs - Math.floor(this.#clock.epochMs()) - resetAfterMs);
    if (apartMs > (this.#stepped ? 1_001 : 1))
      throw new Error(`Reset and Reset-After are ${apartMs} ms apart`);
    if (limitOf(set, role)?.units !== limit) throw new Error('a limit that is not in the set');
  }

  /** A refused request leaves every one of its limits as the naive limiter has it. */
  #drewNothing(set: LimitSet, who: Who): void {
    for (const role of [...LIMIT_ROLES, 'concurrent'] as const) {
      if (set[role] === null) continue;
      const alone = { ...NO_LIMITS, [role]: set[role] };
      this.#compare(this.#ask('peek', alone, who), this.#naive.peek(alone, who, this.#nowMs), alone);
    }
  }

  #admitted(decision: Decision, set: LimitSet, who: Who): void {
    const id = this.#naive.draws;
    if ((decision.place !== null) !== this.#naive.isInFlight(id))
      throw new Error('a place too many or too few');
    if (decision.place !== null) this.#running.push({ place: decision.place, id });
    for (const [limits, windows] of [
      [set, decision],
      [set.shadow, decision.shadow],
    ] as const) {
      for (const role of ['caller', 'group', 'resource'] as const) {
        const limit = limits?.[role] ?? null;
        const window = windowIn(windows, role);
        const isReturned = limit?.returnsUnits === true;
        if (limits === set && (window !== 0) !== isReturned) throw new Error(`no window of ${role}`);
        if (limit === null || window === 0) continue;
        const cost = unitsTaken(limit, who.cost);
        this.#units.push({ limit, part: partOf(limit, who), caller: who.caller, window, id, cost });
      }
    }
    for (const role of LIMIT_ROLES) {
      const isRefused = decision.shadow.refused.includes(role);
      const drawn = [set[role], isRefused ? null : (set.shadow?.[role] ?? null)];
      for (const limit of drawn) if (limit !== null) this.#checkRate(limit, who);
    }
  }

  /** Whatever the algorithm in detail: what was admitted over a time is bounded by the quota. */
  #checkRate(limit: Limit, who: Who): void {
    const key = keyOf(limit, who);
    const draws = this.#draws.get(key) ?? [];
    this.#draws.set(key, draws);
    const cost = Math.min(unitsTaken(limit, who.cost), limit.units);
    for (let unit = 0; unit < cost; unit++) draws.push(this.#nowMs);
    if (this.#refunded.has(key)) return;
    const [first = 0] = draws;
    const units = limit.algorithm === 'window' ? limit.units + 6 : limit.units;
    const early = limit.slackMs;
    for (let from = 0; from < draws.length; from++) {
      const spanMs = this.#nowMs - (draws[from] ?? 0) + early;
      const windows = Math.floor(spanMs / limit.periodMs) + (draws[from] === first ? 1 : 2);
      const most = limit.algorithm === 'window' ? units * windows : units + (spanMs * units) / limit.periodMs;
      if (draws.length - from > most + 1e-6)
        throw new Error(`${draws.length - from} admitted, at most ${most}`);
    }
  }

  /** Reset stays until it has passed, unless the window after it lacks room for the largest cost as well; a smooth one never goes back. */
  #checkReset(decision: Decision, set: LimitSet, who: Who): void {
    const limit = decision.role === null ? null : limitOf(set, decision.role);
    if (limit === null || limit === undefined || (limit.role === 'global' && decision.admitted)) return;
    // A class with more room may see the window of now where one with less sees the next.
    const key = `${keyOf(limit, who)} ${limit.units}`;
    const last = this.#told.get(key);
    this.#told.set(key, { resetAtMs: decision.resetAtMs, untilMs: this.#nowMs + decision.resetAfterMs });
    if (last === undefined || this.#refunded.has(keyOf(limit, who))) return;
    const moved = decision.resetAtMs - last.resetAtMs;
    const usedUp = moved === limit.periodMs && decision.remaining < limit.largestCost;
    if (limit.algorithm === 'smooth' ? moved < 0 : moved !== 0 && this.#nowMs < last.untilMs && !usedUp) {
      throw new Error(`Reset moved by ${moved} ms`);
    }
  }

  /** A client that waits as the response says is not refused by the same limit, whichever number it goes by. */
  #waitAsTold(set: LimitSet, who: Who, bits: Bits): void {
    const way = bits.take(8);
    const goesByRemaining = way >= 4;
    let decision = this.#decideAndEnd(set, who);
    for (let i = 0; decision.admitted && i < 20; i++) {
      if (goesByRemaining && decision.role !== null && decision.remaining === 0) break;
      decision = this.#decideAndEnd(set, who);
    }
    if (decision.atOnce || (decision.admitted && !goesByRemaining)) return;
    const { role, retryAfterMs, resetAfterMs, resetAtMs } = decision;
    if (goesByRemaining && this.#algorithm === 'window' && role !== 'global')
      this.#clock.advance(Math.max(0, resetAfterMs - (way % 2 === 0 ? 0 : 1.7)));
    else if (way === 0) this.#clock.advance(retryAfterMs);
    else if (way === 1) this.#clock.advance(retryAfterMs - 1.7);
    else if (way === 2) this.#clock.advance(Math.ceil(retryAfterMs / 1_000) * 1_000);
    else if (this.#stepped) this.#clock.advance(resetAfterMs);
    else this.#clock.advance(Math.max(0, resetAtMs - this.#clock.epochMs()));
    const again = this.#decideAndEnd(set, who);
    if (!again.admitted && !again.atOnce && again.role === role)
      throw new Error(`refused again after the wait told (${way})`);
  }

  #stepWorld(bits: Bits): void {
    this.#clock.stepWorld((bits.take(2) === 0 ? 5_000 : 900) * (bits.take(2) === 0 ? 1 : -1));
    this.#stepped = true;
    this.#told.clear();
  }

  /** Decides about a request that is over at once. */
  #decideAndEnd(set: LimitSet, who: Who): Decision {
    const decision = this.#decide(set, who);
    if (decision.place !== null) this.#end(0);
    return decision;
  }

  /** Ends a request in flight. `back`: how many began after it. */
  #end(back: number): void {
    const [ended] = this.#running.splice(
      this.#running.length - 1 - (back % Math.max(1, this.#running.length)),
      1,
    );
    if (ended === undefined) return;
    ended.place.leave();
    this.#naive.end(ended.id);
  }

  #refund(bits: Bits): void {
    const at = bits.take(8) % Math.max(1, this.#units.length);
    const [unit] = this.#units.splice(this.#units.length - 1 - at, 1);
    if (unit === undefined) return;
    const { limit, part, window, id, cost, caller } = unit;
    const owner = isSharedRole(limit.role) ? '' : caller;
    this.#refunded.add(`${limit.identity} ${owner} ${part}`);
    if (limit.isPriced && bits.take(2) === 1) {
      // It cost more than was known: whatever the quota, that is consumed as well.
      const more = 1 + bits.take(12);
      this.#store.refund(limit, part, window, -more, caller);
      this.#naive.charge(limit, owner, part, this.#nowMs, id, more);
    } else {
      this.#store.refund(limit, part, window, cost, caller);
      this.#naive.refund(limit, owner, part, this.#nowMs, id);
    }
  }

  get #nowMs(): number {
    return Math.floor(this.#clock.monotonicMs());
  }
}

/** Reads small numbers out of a large one. */
class Bits {
  readonly #start: number;
  #rest: number;

  constructor(number: number) {
    this.#start = number;
    this.#rest = number;
  }

  /** 0 to below - 1. */
  take(below: number): number {
    const value = this.#rest % below;
    this.#rest = Math.floor(this.#rest / below);
    return value;
  }

  again(): Bits {
    return new Bits(this.#start);
  }
}

function limitOf(set: LimitSet, role: LimitRole): Limit | null {
  return set[role];
}

/** The part that a limit counts under. */
function partOf({ role }: Limit, { main, group }: Who): string {
  if (role === 'global') return '';
  return role === 'group' ? groupCounterKey(group, main) : main;
}

function keyOf(limit: Limit, who: Who): string {
  const part = partOf(limit, who);
  return isSharedRole(limit.role) ? sharedKeyOf(limit, part) : `${limit.identity} ${who.caller} ${part}`;
}

function sharedKeyOf(limit: Limit, part: string): string {
  return `${limit.identity}  ${part}`;
}
