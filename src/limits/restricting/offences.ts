import {
  type Clock,
  ownMemory,
  type RestrictedKind,
  type RestrictionReason,
  type TableMemory,
  type Words,
} from '../../core/index.ts';
import type { Limit, LimitSet, MemoryStoreOptions, Quota } from '../counting/index.ts';
import {
  CounterTable,
  defineLimit,
  Keyspaces,
  MemoryStore,
  NO_LIMITS,
  newCounter,
} from '../counting/index.ts';
import type { Restricted, Whom } from './restriction.ts';
import type { Restrictions } from './restrictions.ts';

/** How many offences are tolerated, and for how long the next one restricts. */
export interface OffenceRule {
  /** How many offences are tolerated. The next one in the same window restricts. */
  readonly quota: Quota;
  readonly restrictForMs: number;
}

/** Adds up the offences seen by several gateways. Called on the request's path: must be quick and must not throw. */
export interface OffenceTally {
  note(offence: Restricted, rule: OffenceRule): void;
  /** Forgets the offences of a client that was lifted. */
  forget(offence: Restricted, rule: OffenceRule): void;
}

/** An `OffenceTally` in operation. Calls back when all gateways together have seen more offences than a rule tolerates. */
export interface OffenceFeed extends OffenceTally {
  /** The number of offences counted by this gateway only, because too many were waiting. */
  readonly left: number;
  start(): void;
  stop(): void;
}

/** Called when all gateways together have seen more offences than the rule tolerates. May be called repeatedly. */
export type OffencesExceeded = (offence: Restricted, rule: OffenceRule) => void;

interface OffenceCounterOptions extends EventCounterOptions {
  /** Adds up the offences seen by all gateways. Default `null`: this process counts alone. */
  readonly tally?: OffenceTally | null;
}

/**
 * The base of all offences: a count per offender, a rule that a reload may change, and a restriction beyond it. Counts nothing
 * without a rule. The count of this process decides at once; the tally adds up all gateways.
 */
class OffenceCounter<Rule extends OffenceRule = OffenceRule> {
  readonly #counter: EventCounter;
  readonly #restrictions: Restrictions;
  readonly #reason: RestrictionReason;
  readonly #tally: OffenceTally | null;
  #rule: Rule | null = null;

  constructor(restrictions: Restrictions, reason: RestrictionReason, options: OffenceCounterOptions) {
    this.#counter = new EventCounter({ ...options, name: reason });
    this.#restrictions = restrictions;
    this.#reason = reason;
    this.#tally = options.tally ?? null;
    restrictions.onLift((lifted, isResponsible) => this.#forget(lifted, isResponsible));
  }

  /** Sets the rule; null turns it off. */
  use(rule: Rule | null): void {
    this.#rule = rule;
    this.#counter.use(rule?.quota ?? null);
  }

  protected get rule(): Rule | null {
    return this.#rule;
  }

  /** Whether offences from this address never count. */
  protected isExempt(address: string): boolean {
    return this.#restrictions.isExempt(address);
  }

  /** A client that was lifted begins again: its next offence must not restrict it again. */
  #forget({ kind, key, webhook }: Whom, isResponsible: boolean): void {
    if ((kind === 'webhook') !== (this.#reason === 'webhook_not_found')) return;
    if (isResponsible) this.#counter.forget(key, webhook);
    if (this.#rule !== null) this.#tally?.forget({ kind, key, webhook, reason: this.#reason }, this.#rule);
  }

  /** Counts one offence. `webhook`: '' for the other kinds. */
  protected count(kind: RestrictedKind, key: string, webhook: string): void {
    const rule = this.#rule;
    if (rule === null) return;
    const offence = { kind, key, webhook, reason: this.#reason };
    this.#tally?.note(offence, rule);
    if (this.#counter.count(key, webhook) === 0) return;
    this.#restrictions.restrict(offence, rule.restrictForMs);
  }
}

/**
 * Counts what addresses do, and restricts them past the threshold:
 *
 * - `invalid_requests`: their invalid requests (docs/contract.md, 5.2), without responses that a restriction caused
 * - `webhook_not_found`: the upstream's 404s, for each webhook: past the threshold the address is refused on that webhook, which it
 *   should have stopped calling (docs/contract.md, 5.3). Other addresses are not affected
 */
export class AddressOffences extends OffenceCounter {
  /** @param webhook the hash of the route's parameters, whose values are secret; '' for an invalid request */
  note(address: string, webhook = ''): void {
    if (!this.isExempt(address)) this.count(webhook === '' ? 'address' : 'webhook', address, webhook);
  }
}

interface EventCounterOptions
  extends Pick<MemoryStoreOptions, 'clock' | 'randomBytes' | 'memory' | 'name' | 'ownersOf'> {
  /** Maximum keys counted. Default 200,000. */
  readonly maxKeys?: number;
}

export const DEFAULT_MAX_EVENT_KEYS = 200_000;
/** There is one quota at a time; those of earlier configurations are forgotten. */
const MAX_KEYSPACES = 64;

/**
 * Counts events against a quota: with the same windows, bounds and evictions as request limits, under keys of one or two parts.
 * Off until it gets a quota.
 */
export class EventCounter {
  readonly #memory: TableMemory;
  readonly #store: MemoryStore;
  #limits: LimitSet = NO_LIMITS;

  constructor(options: EventCounterOptions) {
    this.#memory = options.memory ?? ownMemory(options.randomBytes);
    this.#store = new MemoryStore({
      maxKeys: DEFAULT_MAX_EVENT_KEYS,
      maxKeyspaces: MAX_KEYSPACES,
      ...options,
      memory: this.#memory,
    });
  }

  /** Sets the quota; null turns counting off. Counts are kept as long as the period does not change. */
  use(quota: Quota | null): void {
    if (quota === null) this.#limits = NO_LIMITS;
    else
      this.#limits = {
        ...NO_LIMITS,
        caller: defineLimit({ role: 'caller', bucket: '', main: null, algorithm: 'window', quota }),
      };
  }

  /**
   * Counts one event. Returns 0 while the quota admits it, else the milliseconds until it would. Also returns 0 if the table is
   * full and the key would use the counter shared by all: clients must not pay for others.
   */
  count(key: string, part: string): number {
    const { admitted, sharedKey, retryAfterMs } = this.#store.decide(this.#limits, key, part);
    return admitted || sharedKey ? 0 : retryAfterMs;
  }

  /** Forgets the events of a key: at once, or, in shared memory, as soon as no other thread counts. */
  forget(key: string, part: string): void {
    const { caller } = this.#limits;
    if (caller !== null) void this.#memory.soon(() => this.#store.reset(caller, key, part));
  }
}

/** A client may have sent several requests before it learned of the first refusal. Milliseconds. */
const IN_FLIGHT_MS = 1_000;
/**
 * For shorter waits, requests are excused for this fraction of the wait: otherwise nothing would stop a flood on a bucket with
 * short waits.
 */
const IN_FLIGHT_PART = 0.5;
/** No smooth limit announces a shorter wait. */
const MIN_STEP_MS = 2;

/** Remembers, for each key of a limit, when it first refused and how long the announced wait lasts. Bounded; evicts when full. */
class RefusalMemory {
  readonly #clock: Clock;
  readonly #table: CounterTable;
  readonly #keyspaces: Keyspaces;
  readonly #refusal = newCounter();
  readonly #memory: TableMemory;
  /** A float: refusals before this time are forgotten. */
  readonly #forgotten: Words;

  constructor(options: EventCounterOptions) {
    const { clock, randomBytes, maxKeys = DEFAULT_MAX_EVENT_KEYS } = options;
    const memory = options.memory ?? ownMemory(randomBytes);
    this.#clock = clock;
    this.#memory = memory;
    this.#forgotten = memory.words('forgotten refusals', 2);
    const table = new CounterTable(memory, 'refusals', maxKeys);
    this.#table = table;
    // All refusals compete for the same room: a forgotten refusal excuses its caller, and harms nobody.
    this.#keyspaces = new Keyspaces(memory, 'refusals', table, () => table.partitions.named('refusals'));
  }

  /** Excuses everyone from the waits announced so far. */
  forget(): void {
    const nowMs = Math.floor(this.#clock.monotonicMs());
    void this.#memory.soon(() => this.#forgotten.setFloat(0, nowMs + 1));
  }

  /** Records a refusal. Returns true if the caller ignored an earlier one of the same key (docs/contract.md, 5.4). */
  note(limit: Limit, caller: string, main: string, cost: number, waitMs: number): boolean {
    return this.#memory.whole(() => this.#note(limit, caller, main, cost, waitMs));
  }

  #note(limit: Limit, caller: string, main: string, cost: number, waitMs: number): boolean {
    const nowMs = Math.floor(this.#clock.monotonicMs());
    this.#table.begin(nowMs);
    const { keyspace } = this.#keyspaces.bind(limit);
    // Requests of another cost get another wait. No main value contains a NUL.
    const ofValue = cost === 1 ? main : `${cost}\0${main}`;
    const part = limit.role === 'global' ? '' : ofValue;
    const row = this.#table.find(keyspace, caller, part);
    const stepMs = stepOf(limit, cost);
    const refusal = this.#refusal;
    let firstMs = nowMs;
    if (row >= 0) {
      this.#table.load(row, refusal);
      // `markMs` is when the key first refused, `resetMs` one step after the end of the last announced wait, and `count` is 1
      // once that wait was ignored.
      const { markMs, resetMs, count } = refusal;
      const isExcused = markMs < (this.#forgotten.floats[0] ?? 0);
      if (!isExcused && nowMs < resetMs - stepMs) {
        const toldAtMs = stepMs === 0 ? markMs : resetMs - 2 * stepMs;
        if (nowMs - toldAtMs <= inFlightMs(limit, stepMs)) return false;
        refusal.count = 1;
        this.#table.save(row, refusal);
        return stepMs === 0 || nowMs - markMs > IN_FLIGHT_MS;
      }
      // A smooth limit admits one request per step, which does not make up for an ignored wait.
      if (!isExcused && count === 1 && nowMs < resetMs) firstMs = markMs;
    }
    refusal.markMs = firstMs;
    // A client within the slack is not early.
    refusal.resetMs = nowMs + waitMs - limit.slackMs + stepMs;
    refusal.count = 0;
    const kept = row >= 0 ? row : this.#table.open(keyspace, caller, part);
    if (kept >= 0) this.#table.save(kept, refusal);
    return false;
  }
}

/** The time between two admissions of this cost by a smooth limit whose burst is used up; 0 for other limits. */
function stepOf({ algorithm, periodMs, units }: Limit, cost: number): number {
  if (algorithm !== 'smooth') return 0;
  return Math.max(MIN_STEP_MS, (Math.min(cost, units) * periodMs) / units);
}

/**
 * How long further requests are excused: they may have been sent before the refusal arrived. Counted from the first refusal, or,
 * with a smooth limit, from one step before the end of the last announced wait. Requests that ignore a global refusal count as
 * invalid requests in any case.
 */
function inFlightMs(limit: Limit, stepMs: number): number {
  if (limit.role === 'global') return IN_FLIGHT_MS;
  return Math.min(IN_FLIGHT_MS, (stepMs || limit.periodMs) * IN_FLIGHT_PART);
}

interface Refusal {
  /** Key of the client's address. */
  readonly address: string;
  /** The principal of the caller; `null` if the caller counts as its address. */
  readonly principal: string | null;
  /** The limit that refused, and the requested main value, or `OTHER_PARTS`. */
  readonly limit: Limit;
  readonly main: string;
  /** The request's cost in units of a bucket's limit. */
  readonly cost: number;
  /** The wait announced in the response. */
  readonly waitMs: number;
}

export interface IgnoredRefusalsRule extends OffenceRule {
  /** Whether callers identified by address can be restricted, and with them everyone behind that address. */
  readonly addresses: boolean;
}

/**
 * Counts requests that ignore the announced wait: refused again by the same key of a limit, more than a second after its first
 * refusal and before the wait is over. Restricts the caller past the threshold (docs/contract.md, 5.4).
 */
export class IgnoredRefusals extends OffenceCounter<IgnoredRefusalsRule> {
  readonly #memory: RefusalMemory;

  constructor(restrictions: Restrictions, options: OffenceCounterOptions) {
    super(restrictions, 'ignored_refusals', options);
    this.#memory = new RefusalMemory(options);
  }

  /** Excuses everyone from the waits announced so far. Call it when an operator has reset somebody's allowance. */
  forgetWaits(): void {
    this.#memory.forget();
  }

  /**
   * Call this for refusals by one of the caller's own keys: its global limit, its limit in a bucket (also a shared bucket), or
   * any limit of a bucket where the key is `OTHER_PARTS`. Not for a decision with `sharedKey`: that key may have refused another
   * caller first.
   */
  note({ address, principal, limit, main, cost, waitMs }: Refusal): void {
    const { rule } = this;
    if (rule === null || (principal === null && !rule.addresses) || this.isExempt(address)) return;
    const caller = principal ?? address;
    if (!this.#memory.note(limit, caller, main, cost, waitMs)) return;
    this.count(principal === null ? 'address' : 'principal', caller, '');
  }
}
