import type { Consumption } from '../config/index.ts';
import type { HeldOutcome, NewPermits, Permits, Timer, TimerClock } from '../core/index.ts';
import { type Decision, groupCounterKey, type Limit, limitsIn } from '../limits/index.ts';

/** Maximum requests held at once, per caller and in total. Each is an exchange in flight, a few kilobytes. */
const MAX_HELD_PER_CALLER = 100;
const MAX_HELD = 1_000;
/** The tolerance for timers, which fire late or slightly early. */
const GRACE_MS = 5;

export interface HoldableRequest {
  readonly consumption: Consumption;
  /** How long it may be held, in total. */
  readonly patienceMs: number;
  readonly decide: () => Decision | Promise<Decision>;
}

/** A request that waits for a counter to have room. */
interface Held extends HoldableRequest {
  readonly sinceMs: number;
  readonly over: (decision: Decision | null) => void;
  readonly failed: (fault: unknown) => void;
  line: Line | null;
}

/** Requests that wait for the same counter, in order of arrival. */
interface Line {
  readonly key: string;
  readonly waiting: Held[];
  /** The quota: when the counter has room again, no more requests than this can be admitted. */
  readonly units: number;
  timer: Timer | null;
}

/** A held request. `Result` is what its conclusion returns, `null` if its client has disconnected. */
export interface Hold<Result> {
  readonly result: Promise<Result | null>;
  /** Removes it from its line. */
  leave(): void;
}

/**
 * Holds requests that a limit would refuse with a short wait, and decides again after the wait: first come, first served for each
 * counter. Bounded per caller, per counter by its quota, and in total.
 *
 * Threads that share permits share these bounds. Each has its own lines, whose timers fire when the counter is due to have room:
 * the first to decide gets the unit, and the others keep waiting while their patience lasts.
 */
export class HeldRequests {
  readonly #clock: TimerClock;
  readonly #ended: (outcome: HeldOutcome) => void;
  readonly #lines = new Map<string, Line>();
  /** Counts the held requests, in total and per caller. */
  readonly #permits: Permits;
  /** Counts the requests that wait for each counter, in all threads: a thread's line has only its own. */
  readonly #inLine: Permits;
  #count = 0;

  constructor(clock: TimerClock, ended: (outcome: HeldOutcome) => void, permits: NewPermits) {
    this.#clock = clock;
    this.#ended = ended;
    this.#permits = permits('held');
    this.#inLine = permits('held in line');
  }

  /** Holds the request behind others that wait for one of its counters. Returns `null` if there are none, or no room. */
  behindOthers<Result>(
    holding: HoldableRequest,
    conclude: (decision: Decision) => Result,
  ): Hold<Result> | null {
    if (this.#count === 0) return null;
    for (const limit of limitsIn(holding.consumption.set)) {
      const line = this.#lines.get(lineKey(holding.consumption, limit));
      if (line !== undefined) return this.#hold(holding, line, conclude);
    }
    return null;
  }

  /** Holds a request that was just refused. Returns `null` if its wait is too long, or there is no room. */
  afterRefusal<Result>(
    holding: HoldableRequest,
    decision: Decision,
    conclude: (decision: Decision) => Result,
  ): Hold<Result> | null {
    if (!isWaitShortEnough(decision, holding.patienceMs)) return null;
    const hold = this.#hold(holding, this.#lineFor(holding.consumption, decision), conclude);
    if (hold === null) this.#ended('no_room');
    return hold;
  }

  #hold<Result>(
    holding: HoldableRequest,
    line: Line,
    conclude: (decision: Decision) => Result,
  ): Hold<Result> | null {
    const { caller } = holding.consumption;
    if (this.#inLine.take(line.key, Number.POSITIVE_INFINITY, line.units) !== null) return null;
    if (this.#permits.take(caller, MAX_HELD, MAX_HELD_PER_CALLER) !== null) {
      this.#inLine.giveBack(line.key);
      return null;
    }
    this.#count++;
    const { promise: result, resolve, reject } = Promise.withResolvers<Result | null>();
    const held: Held = {
      ...holding,
      sinceMs: this.#clock.monotonicMs(),
      // Conclude immediately: a store may overwrite its decision at the next call.
      over: decision => resolve(decision === null ? null : conclude(decision)),
      failed: reject,
      line,
    };
    line.waiting.push(held);
    return { result, leave: () => this.#release(held, null, 'abandoned') };
  }

  #lineFor(consumption: Consumption, { by, limit, retryAfterMs }: Decision): Line {
    const key = by === null ? '' : lineKey(consumption, by);
    const known = this.#lines.get(key);
    if (known !== undefined) return known;
    const line: Line = { key, waiting: [], units: limit, timer: null };
    this.#lines.set(key, line);
    this.#wakeIn(line, retryAfterMs);
    return line;
  }

  #wakeIn(line: Line, waitMs: number): void {
    line.timer = this.#clock.after(waitMs, () => {
      line.timer = null;
      this.#serve(line).catch(fault => this.#fail(line, fault));
    });
  }

  /** Decides about the requests in the line, one by one, until one has to wait longer. */
  async #serve(line: Line): Promise<void> {
    for (let first = line.waiting[0]; first !== undefined; first = line.waiting[0]) {
      const asked = first.decide();
      const decision = asked instanceof Promise ? await asked : asked;
      // The client disconnected while the store decided.
      if (first.line !== line) {
        decision.place?.leave();
        continue;
      }
      const leftMs = first.patienceMs + GRACE_MS - (this.#clock.monotonicMs() - first.sinceMs);
      if (!isWaitShortEnough(decision, leftMs)) {
        this.#release(first, decision, decision.admitted ? 'admitted' : 'refused');
        continue;
      }
      const next = this.#lineFor(first.consumption, decision);
      if (next === line) {
        this.#wakeIn(line, decision.retryAfterMs);
        return;
      }
      line.waiting.shift();
      first.line = next;
      next.waiting.push(first);
      this.#inLine.giveBack(line.key);
      this.#inLine.take(next.key, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
    }
    this.#lines.delete(line.key);
  }

  #release(held: Held, decision: Decision | null, outcome: HeldOutcome): void {
    const { line } = held;
    if (line === null) return;
    line.waiting.splice(line.waiting.indexOf(held), 1);
    held.line = null;
    this.#count--;
    this.#permits.giveBack(held.consumption.caller);
    this.#inLine.giveBack(line.key);
    this.#ended(outcome);
    try {
      held.over(decision);
    } catch (fault) {
      held.failed(fault);
    }
  }

  /** Ends every wait in a line whose store failed. Stores should never throw; if one does, no request may wait forever. */
  #fail(line: Line, fault: unknown): void {
    this.#lines.delete(line.key);
    for (const held of [...line.waiting]) {
      held.failed(fault);
      this.#release(held, null, 'refused');
    }
  }
}

/** Whether it was refused by a limit with a short enough wait. */
function isWaitShortEnough({ admitted, atOnce, role, retryAfterMs }: Decision, patienceMs: number): boolean {
  return !admitted && !atOnce && role !== null && retryAfterMs <= patienceMs;
}

/** Names the counter of one limit of a request. Only the main value may contain any character, so it comes last. */
function lineKey({ caller, main, group }: Consumption, { identity, role }: Limit): string {
  if (role === 'global') return `${identity}\0${caller}`;
  if (role === 'group') return `${identity}\0${groupCounterKey(group, main)}`;
  return role === 'caller' ? `${identity}\0${caller}\0${main}` : `${identity}\0${main}`;
}
