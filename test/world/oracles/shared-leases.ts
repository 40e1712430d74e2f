import { MODE } from '../../../src/limits/redis/store/script-words.ts';
import type { World } from '../world.ts';

/** How long a lease holds that nobody renews. */
const LEASE_MS = 30_000;

/** Counts by a second hand the requests in flight that Redis knows of, at every reply: never more than may be, and none refused below. */
export class SharedLeases {
  readonly #world: World;
  /** When each ends, by its name, by their key. */
  readonly #leases = new Map<string, Map<string, number>>();
  /** Until when Redis may hold some that are not known here. */
  #lostUntilMs = 0;
  #isLost = false;

  constructor(world: World) {
    this.#world = world;
  }

  /** Redis has lost some, and nobody knows which; or its clock has stepped. */
  lose(): void {
    this.#leases.clear();
    this.#isLost = true;
  }

  /** A request was decided. `most`: how many may be in flight. */
  decided(key: string, most: number, lease: string, nowMs: number, isTaken: boolean): void {
    const held = this.#heldAt(key, nowMs);
    if (isTaken) held.set(lease, nowMs + LEASE_MS);
    if (held.size > most)
      this.#world.wrong('shared leases', `${held.size} are in flight for ${key}, and ${most} may be`);
    if (!isTaken && held.size < most && !this.#isUnknown(nowMs))
      this.#world.wrong(
        'shared leases',
        `refused with ${held.size} in flight for ${key}, and ${most} may be`,
      );
  }

  ran(mode: string, key: string, leases: readonly string[], nowMs: number): void {
    const held = this.#heldAt(key, nowMs);
    for (const lease of leases) {
      if (mode === MODE.end) held.delete(lease);
      if (mode === MODE.renew) held.set(lease, nowMs + LEASE_MS);
    }
  }

  #isUnknown(nowMs: number): boolean {
    if (this.#isLost) this.#lostUntilMs = nowMs + LEASE_MS;
    this.#isLost = false;
    return nowMs <= this.#lostUntilMs;
  }

  #heldAt(key: string, nowMs: number): Map<string, number> {
    const held = this.#leases.get(key) ?? new Map<string, number>();
    this.#leases.set(key, held);
    for (const [lease, endMs] of held) if (endMs <= nowMs) held.delete(lease);
    return held;
  }
}
