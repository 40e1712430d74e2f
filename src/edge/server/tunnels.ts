import type { Timer, TimerClock } from '../../core/index.ts';
import type { Successor } from '../../gateway/index.ts';

/** How often some tunnels are ended while the gateway shuts down. */
const STEP_MS = 50;
/** Maximum tunnels that all threads together end in one step before the end time. */
const MOST = 50;

/**
 * The open WebSockets of this thread. They never end by themselves, so a shutdown ends them, one after the other: clients reconnect
 * at once, and those of a whole replica together would be a storm for the others.
 */
export class Tunnels {
  readonly #clock: TimerClock;
  readonly #random: () => number;
  readonly #most: number;
  /** The open ones, oldest first. */
  readonly #open = new Set<Successor>();
  #endMs = Number.POSITIVE_INFINITY;
  /** How many tunnels are due to be ended, including a fraction. */
  #due = 0;
  #timer: Timer | null = null;

  /** @param threads how many threads serve: each may end its share of `MOST` */
  constructor(clock: TimerClock, random: () => number, threads = 1) {
    this.#clock = clock;
    this.#random = random;
    this.#most = MOST / threads;
  }

  add(tunnel: Successor): void {
    this.#open.add(tunnel);
  }

  delete(tunnel: Successor): void {
    this.#open.delete(tunnel);
  }

  /** Ends all open and later WebSockets evenly until this time on the monotonic clock, and after it all at once. */
  endBy(endMs: number): void {
    this.#endMs = endMs;
    this.#due = this.#random();
    this.#timer ??= this.#clock.every(STEP_MS, () => this.#step());
    if (endMs <= this.#clock.monotonicMs()) this.#step();
  }

  stop(): void {
    this.#clock.cancel(this.#timer);
    this.#timer = null;
  }

  #step(): void {
    const leftMs = this.#endMs - this.#clock.monotonicMs();
    const share = (this.#open.size * STEP_MS) / leftMs;
    this.#due += leftMs <= 0 ? this.#open.size : Math.min(this.#most, share);
    for (const tunnel of this.#open) {
      if (this.#due < 1) return;
      this.#due--;
      this.#open.delete(tunnel);
      tunnel.drain();
    }
  }
}
