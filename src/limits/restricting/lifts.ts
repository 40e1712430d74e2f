import type { Lift, Restriction } from './restriction.ts';

interface Remembered {
  readonly count: number;
  readonly untilMs: number;
}

/** How many lifts are remembered at once; beyond that the oldest are forgotten. */
const MAX_LIFTS = 100_000;
/** How much longer than its restriction a lift is remembered, since gateways disagree a little on the end of a restriction. */
const LONGER_MS = 60_000;

/**
 * Remembers which restrictions were lifted, as long as another gateway could still announce them: one that was disconnected, or
 * one that fills a new Redis.
 */
export class Lifts {
  readonly #lifts = new Map<string, Remembered>();
  /**
   * Continues from the oldest to the next oldest, since a new iteration would first skip all recently deleted entries. Each sweep
   * drops it: for a paused iteration, V8 keeps everything that the map has held meanwhile.
   */
  #oldest: MapIterator<string> | null = null;
  /** No lift expires before this time. */
  #nextEndMs = Number.POSITIVE_INFINITY;

  /** How often restrictions of a client were lifted. Ignores expired lifts: others may have removed them already. */
  of(digest: string, nowMs: number): number {
    const lift = this.#lifts.get(digest);
    return lift !== undefined && lift.untilMs > nowMs ? lift.count : 0;
  }

  /** @param restricted the restrictions to lift: they may have begun with a count that has since been forgotten */
  add(digest: string, restricted: readonly Pick<Restriction, 'lifts' | 'untilMs'>[], nowMs: number): Lift {
    const before = this.#lifts.get(digest);
    const untilMs = Math.max(...restricted.map(({ untilMs }) => untilMs));
    const lift = {
      count: Math.max(before?.count ?? 0, ...restricted.map(({ lifts }) => lifts)) + 1,
      untilMs: Math.max(untilMs, before?.untilMs ?? 0) + LONGER_MS,
    };
    this.#remember(digest, lift);
    return { digest, count: lift.count, forMs: lift.untilMs - nowMs };
  }

  /** Adopts a lift made elsewhere. Returns false if it is already known. */
  learn({ digest, count, forMs }: Lift, nowMs: number): boolean {
    if (count <= this.of(digest, nowMs)) return false;
    this.#remember(digest, { count, untilMs: nowMs + forMs });
    return true;
  }

  /** Lists all lifts, as they would be announced now. */
  *running(nowMs: number): Generator<Lift> {
    for (const [digest, { count, untilMs }] of this.#lifts)
      if (untilMs > nowMs) yield { digest, count, forMs: untilMs - nowMs };
  }

  /** Drops lifts that no gateway can contradict any more. */
  sweep(nowMs: number): void {
    this.#oldest = null;
    if (nowMs < this.#nextEndMs) return;
    this.#nextEndMs = Number.POSITIVE_INFINITY;
    for (const [digest, { untilMs }] of this.#lifts) {
      if (untilMs <= nowMs) this.#lifts.delete(digest);
      else this.#nextEndMs = Math.min(this.#nextEndMs, untilMs);
    }
  }

  #remember(digest: string, lift: Remembered): void {
    this.#lifts.delete(digest);
    if (this.#lifts.size >= MAX_LIFTS) this.#forgetOldest();
    this.#lifts.set(digest, lift);
    this.#nextEndMs = Math.min(this.#nextEndMs, lift.untilMs);
  }

  #forgetOldest(): void {
    this.#oldest ??= this.#lifts.keys();
    const { value: oldest } = this.#oldest.next();
    if (oldest !== undefined) this.#lifts.delete(oldest);
  }
}
