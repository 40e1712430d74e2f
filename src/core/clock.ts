import { performance } from 'node:perf_hooks';

/** Where time comes from. All other files are handed a clock, so that tests can stop it. */
export interface Clock {
  /** Milliseconds since the Unix epoch, by the wall clock; may step. For what people and clients read. */
  epochMs(): number;
  /** Milliseconds since some fixed moment; never goes back. For measuring durations. */
  monotonicMs(): number;
}

/** A timer that was set. Only the clock that set it knows more. */
export type Timer = object;

/** A clock that one can wait by. Its timers do not keep the process running: a gateway runs as long as it listens. */
export interface TimerClock extends Clock {
  /** Calls back once, after so many milliseconds. */
  after(ms: number, run: () => void): Timer;
  /** Calls back every so many milliseconds. */
  every(ms: number, run: () => void): Timer;
  /** Stops a timer of either kind. Does nothing if it has fired or there is none. */
  cancel(timer: Timer | null): void;
  /** Returns a signal that is aborted after so many milliseconds, with a `TimeoutError`. */
  signalAfter(ms: number): AbortSignal;
}

/** The clock of this machine. */
export const systemClock: TimerClock = {
  epochMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (ms, run) => setTimeout(run, ms).unref(),
  every: (ms, run) => setInterval(run, ms).unref(),
  // Node stops intervals by the same call.
  cancel: timer => clearTimeout((timer as NodeJS.Timeout | null) ?? undefined),
  signalAfter: ms => AbortSignal.timeout(ms),
};

/** Adds the timers of this machine to a clock that a test or a simulation sets. */
export function withTimers(clock: Clock): TimerClock {
  return { ...systemClock, epochMs: () => clock.epochMs(), monotonicMs: () => clock.monotonicMs() };
}

/** A wait that no sweep has seen yet. */
const NOT_SEEN = -1;

/** Measures how long a wait has lasted, from the first sweep that sees it, so that requests never read the clock. */
export class StallTimer {
  #sinceMs = NOT_SEEN;

  /** Another wait begins. */
  begin(): void {
    this.#sinceMs = NOT_SEEN;
  }

  /** Milliseconds since the wait began, or something last moved. Ask at each sweep, and only then. */
  waitedMs(nowMs: number, moved: boolean): number {
    if (moved || this.#sinceMs === NOT_SEEN) this.#sinceMs = nowMs;
    return nowMs - this.#sinceMs;
  }
}

/** Has something to do at the end of a turn of the event loop. */
export interface TurnTask {
  turnEnded(): void;
}

/** The number of waiting tasks at which they run, even if sockets still have data to read. */
const MAX_WAITING = 256;
/** How often tasks that follow from others are done before sockets are read again. */
const MAX_ROUNDS = 16;

let tasks: TurnTask[] = [];
let isAsked = false;
let isDoing = false;

/**
 * Calls the task once, in order, when the present turn of the event loop has read what waited on its sockets.
 *
 * Messages that leave here leave one right after the other. Written between reads, each would wake its receiver, which has gone
 * back to sleep since the last: bench/README.md has the figures.
 */
export function atTurnEnd(task: TurnTask): void {
  const waiting = tasks.push(task);
  // Tasks that follow from others wait in any case: timers and sockets would have to wait for the last of them.
  if (waiting === MAX_WAITING && !isDoing) process.nextTick(doTasks);
  if (isAsked) return;
  isAsked = true;
  setImmediate(endTurn);
}

/** Calls back in the next turn of the event loop. Between a timer and that, the loop reads every socket. */
export function inNextTurn(run: () => void): void {
  setImmediate(run);
}

function endTurn(): void {
  for (let round = 0; round < MAX_ROUNDS && tasks.length > 0; round++) doTasks();
  isAsked = tasks.length > 0;
  if (isAsked) setImmediate(endTurn);
}

function doTasks(): void {
  const due = tasks;
  tasks = [];
  isDoing = true;
  for (const task of due) task.turnEnded();
  isDoing = false;
}

/** Rounds a wait up to whole seconds, at least 1, as `Retry-After` tells it: a client that comes back earlier is refused again. */
export function wholeSeconds(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1_000));
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Parses a duration as operators write it (`250ms`, `5s`, `10m`, `1h`) to milliseconds; undefined for anything else. */
export function parseDurationMs(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h)$/.exec(text);
  if (match === null) return undefined;
  return Number(match[1]) * (UNITS[match[2] ?? ''] ?? 0);
}

/** Formats a duration as the configuration writes it, in the largest unit without a fraction: `90s`, `2m`, `1500ms`. */
export function formatDuration(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}
