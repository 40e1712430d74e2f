import {
  groupPart,
  type Limit,
  type LimitRole,
  type LimitSet,
  type LimitsByRole,
} from '../../../src/limits/index.ts';

/** What a decision is compared by. `resetAtMs` is left to the caller where a wall clock that stepped may change it. */
export interface NaiveDecision {
  readonly admitted: boolean;
  readonly role: LimitRole | null;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAfterMs: number;
  readonly retryAfterMs: number;
  /** The limits in shadow that would have refused. */
  readonly shadow: readonly LimitRole[];
}

/** Whose request it is, and about what. */
export interface Who {
  readonly caller: string;
  readonly main: string;
  readonly group: string;
}

/** What one limit says of one key at one moment. */
interface View {
  readonly waitMs: number;
  readonly remaining: number;
  readonly resetAfterMs: number;
}

interface Ledger {
  view(limit: Limit, nowMs: number): View;
  draw(limit: Limit, nowMs: number, id: number): void;
  refund(limit: Limit, nowMs: number, id: number): void;
}

/**
 * The limiter as one would write it with unlimited memory and time: a map of strings, nothing ever dropped, every draw
 * remembered. The store must decide the same.
 */
export class NaiveLimiter {
  readonly #ledgers = new Map<string, Ledger>();
  /** The number of the last request that was admitted, for `refund`. */
  draws = 0;

  decide(set: LimitSet, who: Who, nowMs: number): NaiveDecision {
    const decision = this.peek(set, who, nowMs);
    if (!decision.admitted) return decision;
    this.draws++;
    for (const { limit, ledger } of this.#of(set, who)) ledger.draw(limit, nowMs, this.draws);
    return {
      ...this.#describe(set, who, nowMs, null),
      shadow: this.#decideShadow(set, who, nowMs),
    };
  }

  /** Draws on each limit in shadow that admits; returns the others. */
  #decideShadow({ shadow }: LimitSet, who: Who, nowMs: number): LimitRole[] {
    if (shadow === null) return [];
    const refused: LimitRole[] = [];
    for (const { limit, ledger } of this.#of(shadow, who)) {
      if (ledger.view(limit, nowMs).waitMs > 0) refused.push(limit.role);
      else ledger.draw(limit, nowMs, this.draws);
    }
    return refused;
  }

  peek(set: LimitSet, who: Who, nowMs: number): NaiveDecision {
    const waiting = this.#of(set, who).map(({ limit, ledger }) => ledger.view(limit, nowMs).waitMs);
    const roles = this.#of(set, who).map(({ limit }) => limit.role);
    const globalAt = roles.indexOf('global');
    let refusing = globalAt >= 0 && (waiting[globalAt] ?? 0) > 0 ? globalAt : -1;
    if (refusing < 0 && waiting.some(wait => wait > 0)) refusing = waiting.indexOf(Math.max(...waiting));
    return this.#describe(set, who, nowMs, roles[refusing] ?? null);
  }

  /** Undoes what a request drew, if its window is still open. */
  refund(limit: Limit, part: string, nowMs: number, id: number): void {
    this.#ledger(limit, '', part).refund(limit, nowMs, id);
  }

  #describe(set: LimitSet, who: Who, nowMs: number, refusing: LimitRole | null): NaiveDecision {
    const all = this.#of(set, who);
    const wanted = refusing ?? (set.caller === null ? 'resource' : 'caller');
    const found = all.find(({ limit }) => limit.role === wanted);
    if (found === undefined) {
      return { ...NOTHING, admitted: true, role: null };
    }
    const { waitMs, remaining, resetAfterMs } = found.ledger.view(found.limit, nowMs);
    const { role, units } = found.limit;
    const retryAfterMs = refusing === null ? 0 : waitMs;
    return {
      admitted: refusing === null,
      role,
      limit: units,
      remaining,
      resetAfterMs,
      retryAfterMs,
      shadow: [],
    };
  }

  #of(
    { global, caller: own, group: ofGroup, resource }: LimitsByRole,
    { caller, main, group }: Who,
  ): { limit: Limit; ledger: Ledger }[] {
    const all: { limit: Limit; ledger: Ledger }[] = [];
    if (global !== null) all.push({ limit: global, ledger: this.#ledger(global, caller, '') });
    if (own !== null) all.push({ limit: own, ledger: this.#ledger(own, caller, main) });
    if (ofGroup !== null)
      all.push({ limit: ofGroup, ledger: this.#ledger(ofGroup, '', groupPart(group, main)) });
    if (resource !== null) all.push({ limit: resource, ledger: this.#ledger(resource, '', main) });
    return all;
  }

  #ledger(limit: Limit, caller: string, main: string): Ledger {
    const key = `${limit.identity} ${caller} ${main}`;
    let ledger = this.#ledgers.get(key);
    if (ledger === undefined) {
      ledger = limit.algorithm === 'window' ? new WindowLedger() : new LeakyBucket();
      this.#ledgers.set(key, ledger);
    }
    return ledger;
  }
}

const NOTHING = { limit: 0, remaining: 0, resetAfterMs: 0, retryAfterMs: 0, shadow: [] };

interface Window {
  readonly opensMs: number;
  readonly closesMs: number;
  readonly draws: number[];
}

/** Every window that ever was, each with the requests that drew on it. The last may open in the future. */
class WindowLedger implements Ledger {
  readonly #windows: Window[] = [];

  view(limit: Limit, nowMs: number): View {
    const drawnOn = this.#last(nowMs);
    if (drawnOn === null) return { waitMs: 0, remaining: limit.units, resetAfterMs: 0 };
    const left = Math.max(0, limit.units - drawnOn.draws.length);
    const closesInMs = drawnOn.closesMs - nowMs;
    const waitMs = left === 0 && closesInMs > limit.slackMs ? closesInMs : 0;
    // The ending window is announced for as long as waiting for its end is enough.
    if (nowMs < drawnOn.opensMs && left > 0)
      return { waitMs, remaining: 0, resetAfterMs: drawnOn.opensMs - nowMs };
    return { waitMs, remaining: left, resetAfterMs: closesInMs };
  }

  draw(limit: Limit, nowMs: number, id: number): void {
    const last = this.#last(nowMs);
    if (last === null) this.#open(limit, nowMs, id);
    else if (last.draws.length < limit.units) last.draws.push(id);
    else this.#open(limit, last.closesMs, id);
  }

  refund(_limit: Limit, nowMs: number, id: number): void {
    const draws = this.#last(nowMs)?.draws ?? [];
    const at = draws.indexOf(id);
    if (at >= 0) draws.splice(at, 1);
  }

  /** The window that the next request draws on while it has room; null when all have closed. */
  #last(nowMs: number): Window | null {
    const last = this.#windows.at(-1);
    return last === undefined || nowMs >= last.closesMs ? null : last;
  }

  #open(limit: Limit, opensMs: number, id: number): void {
    this.#windows.push({ opensMs, closesMs: opensMs + limit.periodMs, draws: [id] });
  }
}

/** A bucket that fills by `periodMs` drops a request and leaks `units` drops a millisecond: whole numbers all along. */
class LeakyBucket implements Ledger {
  #drops = 0;
  #atMs = 0;
  /** The announced Reset: it never moves back. */
  #toldMs = 0;
  readonly #emptyAt = new Map<number, number>();

  view(limit: Limit, nowMs: number): View {
    const drops = this.#dropsAt(limit, nowMs);
    const room = limit.units * limit.periodMs - drops;
    const early = (limit.periodMs - room) / limit.units;
    const rounding = Math.max(0, 2 - limit.slackMs);
    return {
      waitMs: early <= limit.slackMs ? 0 : Math.ceil(early + rounding),
      remaining: Math.max(0, Math.floor(room / limit.periodMs)),
      resetAfterMs: Math.max(0, this.#toldMs - nowMs),
    };
  }

  draw(limit: Limit, nowMs: number, id: number): void {
    this.#drops = this.#dropsAt(limit, nowMs) + limit.periodMs;
    this.#atMs = nowMs;
    const emptyMs = nowMs + Math.ceil(this.#drops / limit.units);
    this.#emptyAt.set(id, emptyMs);
    this.#toldMs = Math.max(this.#toldMs, emptyMs);
  }

  refund(limit: Limit, nowMs: number, id: number): void {
    if (nowMs >= (this.#emptyAt.get(id) ?? 0)) return;
    this.#drops = Math.max(0, this.#dropsAt(limit, nowMs) - limit.periodMs);
    this.#atMs = nowMs;
  }

  #dropsAt(limit: Limit, nowMs: number): number {
    return Math.max(0, this.#drops - (nowMs - this.#atMs) * limit.units);
  }
}
