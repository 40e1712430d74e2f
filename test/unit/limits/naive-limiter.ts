import {
  groupCounterKey,
  type Limit,
  type LimitRole,
  type LimitSet,
  type LimitsByRole,
  type LimitsInForce,
  type ShadowRole,
  unitsTaken,
} from '../../../src/limits/index.ts';

/** What a decision is compared by. `resetAtMs` is left to the caller where a wall clock that stepped may change it. */
export interface NaiveDecision {
  readonly admitted: boolean;
  readonly role: LimitRole | null;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAfterMs: number;
  readonly retryAfterMs: number;
  /** Whether it was refused only because too many requests of the caller are in flight. */
  readonly atOnce: boolean;
  /** The limits in shadow that would have refused. */
  readonly shadow: readonly ShadowRole[];
}

/** Whose request it is, and about what. */
export interface Who {
  readonly caller: string;
  readonly main: string;
  readonly group: string;
  /** The units of each limit but the global one. */
  readonly cost: number;
}

/** What one limit says of one key at one moment. */
interface View {
  readonly waitMs: number;
  readonly remaining: number;
  readonly resetAfterMs: number;
}

interface Ledger {
  view(limit: Limit, nowMs: number, cost: number): View;
  draw(limit: Limit, nowMs: number, id: number, cost: number): void;
  refund(limit: Limit, nowMs: number, id: number): void;
  /** Draws more for a request, whatever is left. */
  charge(nowMs: number, id: number, more: number): void;
}

/**
 * The limiter as one would write it with unlimited memory and time: a map of strings, nothing ever dropped, every draw
 * remembered. The store must decide the same.
 */
export class NaiveLimiter {
  readonly #ledgers = new Map<string, Ledger>();
  /** The key of each request in flight that takes a place, by the request's number. */
  readonly #inFlight = new Map<number, string>();
  /** The number of the last request that was admitted, for `refund`. */
  draws = 0;

  decide(set: LimitSet, who: Who, nowMs: number): NaiveDecision {
    const decision = this.peek(set, who, nowMs);
    if (!decision.admitted) return decision;
    this.draws++;
    for (const { limit, ledger, cost } of this.#of(set, who)) ledger.draw(limit, nowMs, this.draws, cost);
    this.#enter(set, who);
    return { ...this.#describe(set, who, nowMs, null), shadow: this.#decideShadow(set, who, nowMs) };
  }

  /** Whether this request has a place among those in flight. */
  isInFlight(id: number): boolean {
    return this.#inFlight.has(id);
  }

  end(id: number): void {
    this.#inFlight.delete(id);
  }

  #enter({ concurrent }: LimitsInForce, who: Who): void {
    if (concurrent !== null) this.#inFlight.set(this.draws, ledgerKey(concurrent, who.caller, who.main));
  }

  #isFull({ concurrent }: LimitsInForce, who: Who): boolean {
    if (concurrent === null) return false;
    const key = ledgerKey(concurrent, who.caller, who.main);
    return [...this.#inFlight.values()].filter(each => each === key).length >= concurrent.units;
  }

  /** Draws on each limit in shadow that admits; returns the others. */
  #decideShadow({ shadow }: LimitSet, who: Who, nowMs: number): ShadowRole[] {
    if (shadow === null) return [];
    const refused: ShadowRole[] = [];
    for (const { limit, ledger, cost } of this.#of(shadow, who)) {
      if (ledger.view(limit, nowMs, cost).waitMs > 0) refused.push(limit.role);
      else ledger.draw(limit, nowMs, this.draws, cost);
    }
    if (this.#isFull(shadow, who)) refused.push('concurrent');
    else this.#enter(shadow, who);
    return refused;
  }

  peek(set: LimitSet, who: Who, nowMs: number): NaiveDecision {
    const waiting = this.#of(set, who).map(
      ({ limit, ledger, cost }) => ledger.view(limit, nowMs, cost).waitMs,
    );
    const roles = this.#of(set, who).map(({ limit }) => limit.role);
    const globalAt = roles.indexOf('global');
    let refusing = globalAt >= 0 && (waiting[globalAt] ?? 0) > 0 ? globalAt : -1;
    if (refusing < 0 && waiting.some(wait => wait > 0)) refusing = waiting.indexOf(Math.max(...waiting));
    const decision = this.#describe(set, who, nowMs, roles[refusing] ?? null);
    return refusing < 0 && this.#isFull(set, who) ? this.#refuseAtOnce(decision, set) : decision;
  }

  /** A limit that says how much one request may cost says nothing of what is left: the next may cost more. */
  #refuseAtOnce(decision: NaiveDecision, set: LimitSet): NaiveDecision {
    const { largestCost = 1 } = decision.role === null ? {} : (set[decision.role] ?? {});
    const remaining = largestCost > 1 ? 0 : decision.remaining;
    return { ...decision, remaining, admitted: false, atOnce: true, retryAfterMs: 1_000 };
  }

  /** Undoes what a request drew, if its window is still open. */
  refund(limit: Limit, caller: string, part: string, nowMs: number, id: number): void {
    this.#ledger(limit, caller, part).refund(limit, nowMs, id);
  }

  /** Draws more for a request that turned out to cost that, if its window is still open. */
  charge(limit: Limit, caller: string, part: string, nowMs: number, id: number, more: number): void {
    this.#ledger(limit, caller, part).charge(nowMs, id, more);
  }

  /** Forgets what was drawn under this key. */
  reset(limit: Limit, caller: string, main: string): void {
    this.#ledgers.delete(ledgerKey(limit, caller, main));
  }

  #describe(set: LimitSet, who: Who, nowMs: number, refusing: LimitRole | null): NaiveDecision {
    const all = this.#of(set, who);
    const wanted = refusing ?? (set.caller === null ? 'resource' : 'caller');
    const found = all.find(({ limit }) => limit.role === wanted);
    if (found === undefined) {
      return { ...NOTHING, admitted: true, role: null };
    }
    const { waitMs, remaining, resetAfterMs } = found.ledger.view(found.limit, nowMs, found.cost);
    const { role, units } = found.limit;
    const retryAfterMs = refusing === null ? 0 : waitMs;
    return {
      admitted: refusing === null,
      role,
      limit: units,
      remaining: refusing === null ? remaining : 0,
      resetAfterMs,
      retryAfterMs,
      atOnce: false,
      shadow: [],
    };
  }

  #of(
    { global, caller: own, group: ofGroup, resource }: LimitsByRole,
    { caller, main, group, cost }: Who,
  ): { limit: Limit; ledger: Ledger; cost: number }[] {
    const all: { limit: Limit; ledger: Ledger; cost: number }[] = [];
    // More than the whole quota takes the whole quota.
    const add = (limit: Limit, ledger: Ledger) =>
      all.push({ limit, ledger, cost: Math.min(unitsTaken(limit, cost), limit.units) });
    if (global !== null) add(global, this.#ledger(global, caller, ''));
    if (own !== null) add(own, this.#ledger(own, caller, main));
    if (ofGroup !== null) add(ofGroup, this.#ledger(ofGroup, '', groupCounterKey(group, main)));
    if (resource !== null) add(resource, this.#ledger(resource, '', main));
    return all;
  }

  #ledger(limit: Limit, caller: string, main: string): Ledger {
    const key = ledgerKey(limit, caller, main);
    let ledger = this.#ledgers.get(key);
    if (ledger === undefined) {
      ledger = limit.algorithm === 'window' ? new WindowLedger() : new LeakyBucket();
      this.#ledgers.set(key, ledger);
    }
    return ledger;
  }
}

const NOTHING = {
  ...{ limit: 0, remaining: 0, resetAfterMs: 0, retryAfterMs: 0 },
  ...{ atOnce: false, shadow: [] },
};

function ledgerKey({ identity }: Limit, caller: string, main: string): string {
  return `${identity} ${caller} ${main}`;
}

interface Window {
  readonly opensMs: number;
  readonly closesMs: number;
  readonly draws: number[];
}

/** The number of what requests drew once they were over. */
const CHARGED = -1;

/** Every window that ever was, each with the requests that drew on it. The last may open in the future. */
class WindowLedger implements Ledger {
  readonly #windows: Window[] = [];

  view(limit: Limit, nowMs: number, cost: number): View {
    const drawnOn = this.#last(nowMs);
    if (drawnOn === null) return { waitMs: 0, remaining: limit.units, resetAfterMs: 0 };
    const left = Math.max(0, limit.units - drawnOn.draws.length);
    const closesInMs = drawnOn.closesMs - nowMs;
    const waitMs = left < cost && closesInMs > limit.slackMs ? closesInMs : 0;
    // The ending window is announced for as long as waiting for its end is enough.
    if (nowMs < drawnOn.opensMs && left >= Math.min(limit.largestCost, limit.units))
      return { waitMs, remaining: 0, resetAfterMs: drawnOn.opensMs - nowMs };
    return { waitMs, remaining: left, resetAfterMs: closesInMs };
  }

  draw(limit: Limit, nowMs: number, id: number, cost: number): void {
    const last = this.#last(nowMs);
    const drawn = Array.from({ length: cost }, () => id);
    if (last === null) this.#open(limit, nowMs, drawn);
    else if (last.draws.length + cost <= limit.units) last.draws.push(...drawn);
    else this.#open(limit, last.closesMs, drawn);
  }

  refund(_limit: Limit, nowMs: number, id: number): void {
    const draws = this.#last(nowMs)?.draws ?? [];
    const first = draws.indexOf(id);
    if (first >= 0) draws.splice(first, draws.lastIndexOf(id) - first + 1);
  }

  charge(nowMs: number, id: number, more: number): void {
    const draws = this.#last(nowMs)?.draws ?? [];
    if (draws.includes(id)) draws.push(...Array.from({ length: more }, () => CHARGED));
  }

  /** The window that the next request draws on while it has room; null when all have closed. */
  #last(nowMs: number): Window | null {
    const last = this.#windows.at(-1);
    return last === undefined || nowMs >= last.closesMs ? null : last;
  }

  #open(limit: Limit, opensMs: number, draws: number[]): void {
    this.#windows.push({ opensMs, closesMs: opensMs + limit.periodMs, draws });
  }
}

/** A bucket that fills by `periodMs` drops a unit and leaks `units` drops a millisecond: whole numbers all along. */
class LeakyBucket implements Ledger {
  #drops = 0;
  #atMs = 0;
  /** The announced Reset: it never moves back. */
  #announcedWaitMs = 0;
  readonly #drawn = new Map<number, { readonly emptyMs: number; readonly drops: number }>();

  view(limit: Limit, nowMs: number, cost: number): View {
    const drops = this.#dropsAt(limit, nowMs);
    const room = limit.units * limit.periodMs - drops;
    const early = (cost * limit.periodMs - room) / limit.units;
    const rounding = Math.max(0, 2 - limit.slackMs);
    return {
      waitMs: early <= limit.slackMs ? 0 : Math.ceil(early + rounding),
      remaining: Math.max(0, Math.floor(room / limit.periodMs)),
      resetAfterMs: Math.max(0, this.#announcedWaitMs - nowMs),
    };
  }

  draw(limit: Limit, nowMs: number, id: number, cost: number): void {
    const drops = cost * limit.periodMs;
    this.#drops = this.#dropsAt(limit, nowMs) + drops;
    this.#atMs = nowMs;
    const emptyMs = nowMs + Math.ceil(this.#drops / limit.units);
    this.#drawn.set(id, { emptyMs, drops });
    this.#announcedWaitMs = Math.max(this.#announcedWaitMs, emptyMs);
  }

  refund(limit: Limit, nowMs: number, id: number): void {
    const { emptyMs, drops } = this.#drawn.get(id) ?? { emptyMs: 0, drops: 0 };
    if (nowMs >= emptyMs) return;
    this.#drops = Math.max(0, this.#dropsAt(limit, nowMs) - drops);
    this.#atMs = nowMs;
  }

  charge(): void {
    throw new Error('nothing is priced here');
  }

  #dropsAt(limit: Limit, nowMs: number): number {
    return Math.max(0, this.#drops - (nowMs - this.#atMs) * limit.units);
  }
}
