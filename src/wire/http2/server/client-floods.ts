import type { Http2FaultReason } from '../../../core/index.ts';
import { tooMany } from '../http2-fault.ts';

/** How many events of a kind are allowed in a burst, and per second over time. */
interface RateBounds {
  readonly burst: number;
  readonly perS: number;
  readonly what: string;
  readonly reason: Http2FaultReason;
}

/**
 * Streams that were reset, by the client or by us: a client can provoke our resets. Each may have cost a request to an upstream
 * (CVE-2023-44487, CVE-2025-8671). The burst is what happens when a user leaves a page.
 */
const RESETS: RateBounds = {
  burst: 500,
  perS: 50,
  what: 'RST_STREAM frames, or frames that provoke one',
  reason: 'resets',
};
const REFUSED: RateBounds = {
  burst: 100,
  perS: 10,
  what: 'streams above the maximum',
  reason: 'refused_streams',
};
/** Frames that belong to no request and that no response explains. */
const OTHERS: RateBounds = { burst: 5_000, perS: 2_000, what: 'control frames', reason: 'control_frames' };

/** Counts events of a kind. */
class Rate {
  readonly #bounds: RateBounds;
  #count = 0;

  constructor(bounds: RateBounds) {
    this.#bounds = bounds;
  }

  count(): void {
    this.#count++;
  }

  /** Throws Http2Fault if there were too many. */
  check(): void {
    const { burst, what, reason } = this.#bounds;
    if (this.#count > burst) throw tooMany(what, reason);
  }

  /** Subtracts up to `count`. The count may become negative, by one burst at most: then that many are allowed in advance. */
  allow(count: number): void {
    this.#count = Math.max(this.#count - count, -this.#bounds.burst);
  }

  /** Reduces the count by what this many seconds allow. */
  pass(seconds: number): void {
    if (this.#count > 0) this.#count = Math.max(0, this.#count - this.#bounds.perS * seconds);
  }
}

/**
 * How many frames a client may send for each stream that it opened and each DATA frame that it got: updates of two windows, PING
 * and priorities.
 */
const FRAMES_PER_EVENT = 4;

/** Detects clients that cause more work than they request. */
export class ClientFloods {
  readonly resets = new Rate(RESETS);
  readonly refused = new Rate(REFUSED);
  readonly controlFrames = new Rate(OTHERS);
  readonly #all = [this.resets, this.refused, this.controlFrames];
  #seenMs: number | null = null;

  /** Throws Http2Fault if something came too often. */
  check(): void {
    for (const rate of this.#all) rate.check();
  }

  /** Called when a stream was opened, or this many DATA frames were sent: some control frames may follow. */
  explained(frames: number): void {
    this.controlFrames.allow(FRAMES_PER_EVENT * frames);
  }

  /** Reduces the counts as time passes. */
  sweep(nowMs: number): void {
    const seconds = (nowMs - (this.#seenMs ?? nowMs)) / 1_000;
    this.#seenMs = nowMs;
    for (const rate of this.#all) rate.pass(seconds);
  }
}
