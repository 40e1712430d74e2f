import type { Http2FaultReason } from '../../core/index.ts';
import { tooMany } from '../session/index.ts';

/** Counts events, of which some may come in a burst, and some each second over time. */
class Rate {
  readonly #burst: number;
  readonly #perS: number;
  readonly #what: string;
  readonly #reason: Http2FaultReason;
  #count = 0;

  constructor(burst: number, perS: number, what: string, reason: Http2FaultReason) {
    this.#burst = burst;
    this.#perS = perS;
    this.#what = what;
    this.#reason = reason;
  }

  count(): void {
    this.#count++;
  }

  /** Throws Http2Fault if there were too many. */
  check(): void {
    if (this.#count > this.#burst) throw tooMany(this.#what, this.#reason);
  }

  /** Takes back up to so many, or allows them in advance, up to a second burst. */
  allow(count: number): void {
    this.#count = Math.max(this.#count - count, -this.#burst);
  }

  /** Forgets what is as old as this. */
  pass(seconds: number): void {
    if (this.#count > 0) this.#count = Math.max(0, this.#count - this.#perS * seconds);
  }
}

/** How many frames a client may send because it opened a stream or got DATA: updates of two windows, PING and priorities. */
const FRAMES_PER_EVENT = 4;

/** Notices clients that cost more than they ask for. */
export class ClientFloods {
  /**
   * Streams that were reset, by the client or by us: a client can provoke our resets. Each may have cost a request to an upstream
   * (CVE-2023-44487, CVE-2025-8671). A burst is as when a user leaves a page.
   */
  readonly #resets = new Rate(500, 50, 'RST_STREAM, or what provokes it', 'resets');
  readonly #refused = new Rate(100, 10, 'streams past the maximum', 'refused_streams');
  /** Frames that are part of no request, and that no response explains. */
  readonly #others = new Rate(5_000, 2_000, 'control', 'control_frames');
  #seenMs: number | null = null;

  reset(): void {
    this.#resets.count();
  }

  refused(): void {
    this.#refused.count();
  }

  controlFrame(): void {
    this.#others.count();
  }

  /** Throws Http2Fault if something came too often. */
  check(): void {
    this.#resets.check();
    this.#refused.check();
    this.#others.check();
  }

  /** Notes that a stream was opened, or so many frames of DATA were sent: some control frames may follow. */
  explained(frames: number): void {
    this.#others.allow(FRAMES_PER_EVENT * frames);
  }

  /** Lets the counts sink with time. */
  sweep(nowMs: number): void {
    const seconds = (nowMs - (this.#seenMs ?? nowMs)) / 1_000;
    this.#seenMs = nowMs;
    for (const rate of [this.#resets, this.#refused, this.#others]) rate.pass(seconds);
  }
}
