import type { OutReason, Random } from '../../core/index.ts';

/** Consecutive connect failures that eject an endpoint. */
const MAX_CONNECT_FAILURES = 3;
/** Consecutive bad answers that eject an endpoint. */
const MAX_BAD_ANSWERS = 5;
/** How long the first ejection lasts. Each further one lasts twice as long as the previous. */
const FIRST_EJECTION_MS = 10_000;
const LONGEST_EJECTION_MS = 300_000;
/** How long until an endpoint that came back has its full share again. */
const SLOW_START_MS = 30_000;
/** The fraction of its share that an endpoint starts with when it comes back. */
const FIRST_SHARE = 0.1;
/** How often the share of an endpoint that came back is updated. */
const SHARE_STEP_MS = 1_000;

/** Limits ejections, and is notified of changes in health. */
export interface HealthWatch {
  /** Whether another endpoint may be ejected: at most half may be out. */
  mayEject(): boolean;
  /** Called when the endpoint is taken out of use, when the reason for that changes, and with `null` when it is back. */
  changed(reason: OutReason | null): void;
}

/**
 * Decides whether one endpoint is used: by the outcomes of its requests and of health checks, if any. Reads no clock and sets no
 * timer: callers pass the time.
 */
export class EndpointHealth {
  readonly #watch: HealthWatch;
  readonly #random: Random;
  #connectFailures = 0;
  #badAnswers = 0;
  #lastCause: unknown = null;
  #lastFailure: string | null = null;
  #ejectedFor: OutReason | null = null;
  #ejectedUntilMs = 0;
  #lastEjectionMs = 0;
  #failsChecks = false;
  /** When it came back; `null` if it has its full share. */
  #backSinceMs: number | null = null;

  /** @param random gives the jitter of ejections, so that those of one outage do not all end at once */
  constructor(watch: HealthWatch, random: Random) {
    this.#watch = watch;
    this.#random = random;
  }

  /** Why it is not used; `null` if it is. As of the last `review`. */
  get outFor(): OutReason | null {
    return this.#failsChecks ? 'check' : this.#ejectedFor;
  }

  /** The last failure in words; `null` if it has answered well since. */
  get lastFailure(): string | null {
    return this.#lastFailure;
  }

  /** Called when a response proves that the endpoint accepts connections. */
  reached(): void {
    this.#connectFailures = 0;
  }

  /** Called when it has answered a request to the end. */
  answeredWell(): void {
    this.#connectFailures = 0;
    this.#badAnswers = 0;
    this.#lastCause = null;
    this.#lastFailure = null;
  }

  /** Called when it answered 502, 503 or 504, reset a request or did not answer in time. `cause`: see `connectFailed`. */
  answeredBadly(cause: unknown, nowMs: number): void {
    if (this.#isSameFailure(cause)) return;
    this.#connectFailures = 0;
    if (++this.#badAnswers >= MAX_BAD_ANSWERS) this.#eject('bad_answers', nowMs);
  }

  /**
   * Called when no connection to it could be made.
   *
   * @param cause the error. Requests that fail together, on one connection, share one, which counts once.
   */
  connectFailed(cause: unknown, nowMs: number): void {
    if (this.#isSameFailure(cause)) return;
    if (++this.#connectFailures >= MAX_CONNECT_FAILURES) this.#eject('connect_failures', nowMs);
  }

  /** Called when health checks have found it healthy or unhealthy. Until then it counts as healthy. */
  checked(isHealthy: boolean, nowMs: number): void {
    if (this.#failsChecks === !isHealthy) return;
    this.#failsChecks = !isHealthy;
    this.#changed(nowMs);
  }

  /** Starts it with a small share that grows, because it is new among others in use. */
  startSlowly(nowMs: number): void {
    this.#backSinceMs = nowMs;
  }

  /** Ends an ejection whose time is up. Returns when to call again, unless something changes before. */
  review(nowMs: number): number {
    if (this.#ejectedFor !== null && nowMs >= this.#ejectedUntilMs) {
      this.#ejectedFor = null;
      this.#changed(nowMs);
    }
    if (this.#backSinceMs !== null && nowMs - this.#backSinceMs >= SLOW_START_MS) this.#backSinceMs = null;
    if (this.#ejectedFor !== null) return this.#ejectedUntilMs;
    return this.#backSinceMs === null ? Number.POSITIVE_INFINITY : nowMs + SHARE_STEP_MS;
  }

  /** The fraction of its weight that counts, above 0 and up to 1. */
  share(nowMs: number): number {
    if (this.#backSinceMs === null) return 1;
    return Math.min(1, Math.max(FIRST_SHARE, (nowMs - this.#backSinceMs) / SLOW_START_MS));
  }

  #isSameFailure(cause: unknown): boolean {
    this.#lastFailure = cause instanceof Error ? cause.message : 'it answered 502, 503 or 504';
    const isSame = cause !== null && cause === this.#lastCause;
    this.#lastCause = cause;
    return isSame;
  }

  #eject(reason: OutReason, nowMs: number): void {
    // Requests that were in progress at the ejection may still fail.
    if (this.#ejectedFor !== null || !this.#watch.mayEject()) return;
    const usedMs = nowMs - this.#ejectedUntilMs;
    const isRepeated = this.#lastEjectionMs > 0 && usedMs < Math.max(this.#lastEjectionMs, SLOW_START_MS);
    this.#lastEjectionMs = isRepeated
      ? Math.min(this.#lastEjectionMs * 2, LONGEST_EJECTION_MS)
      : FIRST_EJECTION_MS;
    this.#ejectedUntilMs = nowMs + this.#lastEjectionMs * (1 - this.#random() / 5);
    this.#ejectedFor = reason;
    this.#connectFailures = 0;
    this.#badAnswers = 0;
    this.#changed(nowMs);
  }

  #changed(nowMs: number): void {
    const reason = this.outFor;
    if (reason === null) this.#backSinceMs = nowMs;
    this.#watch.changed(reason);
  }
}
