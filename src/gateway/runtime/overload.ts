import type { OverloadListener, Timer, TimerClock } from '../../core/index.ts';

/** How often the delay of the event loop is measured. */
const TICK_MS = 50;
/**
 * How much of one turn of the event loop may be spent on requests while the gateway sheds, as a fraction of the delay that is too
 * long. At least a tick for the smallest configurable delay, 100 ms: shorter turns are not timed.
 */
const SHARE = 0.5;
/** An episode is over when no request had to be refused for this long. */
const CALM_MS = 5_000;

/** A period in which the gateway sheds requests: each turn of the event loop accepts a bounded amount of work. */
interface Episode {
  readonly beganAtMs: number;
  refused: number;
  refusedAtMs: number;
}

/**
 * Refuses new work while the event loop is overloaded. If the loop was late on average for a second, it has more work than it can
 * do: an **episode** begins. During it, each turn of the loop accepts requests for a fixed time and refuses later ones. So the
 * process does as much work as before, but no request waits long behind others.
 */
export class Overload {
  readonly #clock: TimerClock;
  readonly #listener: OverloadListener;
  #maxDelayMs: number | null;
  #tickedAtMs = 0;
  #delay = new LoopDelay(0);
  #meanMs: number | null = null;
  #episode: Episode | null = null;
  #timer: Timer | null = null;

  /** @param maxDelayMs the mean delay beyond which an episode begins; `null` to never shed */
  constructor(maxDelayMs: number | null, clock: TimerClock, listener: OverloadListener) {
    this.#maxDelayMs = maxDelayMs;
    this.#clock = clock;
    this.#listener = listener;
  }

  start(): void {
    this.#tickedAtMs = this.#clock.monotonicMs();
    this.#delay = new LoopDelay(this.#tickedAtMs);
    if (this.#maxDelayMs === null) return;
    this.#meanMs = 0;
    this.#timer = this.#clock.every(TICK_MS, () => this.tick());
  }

  stop(): void {
    this.#clock.cancel(this.#timer);
    this.#timer = null;
    this.#meanMs = null;
  }

  use(maxDelayMs: number | null): void {
    if (maxDelayMs === this.#maxDelayMs) return;
    this.stop();
    this.#end();
    this.#maxDelayMs = maxDelayMs;
    this.start();
  }

  /** The delay of the event loop, averaged over the last second; `null` if it is not measured. */
  get delayMs(): number | null {
    return this.#meanMs;
  }

  admits(): boolean {
    const episode = this.#episode;
    if (episode === null || this.#maxDelayMs === null) return true;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#tickedAtMs < this.#maxDelayMs * SHARE) return true;
    episode.refused++;
    episode.refusedAtMs = nowMs;
    return false;
  }

  /** Measures the delay. Called by a timer, which fires at the start of a turn. */
  tick(): void {
    const nowMs = this.#clock.monotonicMs();
    const delayMs = Math.max(0, nowMs - this.#tickedAtMs - TICK_MS);
    this.#tickedAtMs = nowMs;
    const mean = this.#delay.note(delayMs, nowMs);
    this.#meanMs = mean ?? this.#meanMs;
    if (this.#episode !== null) {
      if (nowMs - this.#episode.refusedAtMs > CALM_MS) this.#end();
    } else if (this.#maxDelayMs !== null && mean !== null && mean > this.#maxDelayMs) {
      this.#episode = { beganAtMs: nowMs, refused: 0, refusedAtMs: nowMs };
      this.#listener.began(mean);
    }
  }

  #end(): void {
    const episode = this.#episode;
    if (episode === null) return;
    this.#episode = null;
    this.#listener.ended(this.#clock.monotonicMs() - episode.beganAtMs, episode.refused);
  }
}

/** A mean covers at least this time, and at least this many turns of the event loop. */
const WINDOW_MS = 1_000;
const MIN_TURNS = 3;

/**
 * The delay of the event loop, averaged over the last second. The longest delay of a second is ignored: one stall, such as a
 * reload or a garbage collection, says nothing about load.
 */
export class LoopDelay {
  #beganAtMs: number;
  #turns = 0;
  #sumMs = 0;
  #longestMs = 0;

  constructor(nowMs: number) {
    this.#beganAtMs = nowMs;
  }

  /** Adds one delay. Returns the mean at the end of each window, and `null` before. */
  note(delayMs: number, nowMs: number): number | null {
    this.#turns++;
    this.#sumMs += delayMs;
    this.#longestMs = Math.max(this.#longestMs, delayMs);
    if (nowMs - this.#beganAtMs < WINDOW_MS || this.#turns < MIN_TURNS) return null;
    const mean = (this.#sumMs - this.#longestMs) / (this.#turns - 1);
    this.#beganAtMs = nowMs;
    this.#turns = 0;
    this.#sumMs = 0;
    this.#longestMs = 0;
    return mean;
  }
}
