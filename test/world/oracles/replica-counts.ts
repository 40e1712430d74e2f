import type { Sender } from '../inhabitants/redis.ts';
import type { Owner } from '../kernel/timeline.ts';
import type { Sent } from '../redis/redis-model.ts';
import type { Reply } from '../redis/reply.ts';
import type { World } from '../world.ts';

/** Where gateways register. */
const KEY = 'weir:1:replicas';
/** How long one counts that is not heard of, and how long a smaller number is not believed. */
const LIFETIME_MS = 10_000;
/** How exact these moments are: clocks have their paces, and a reply its way. */
const MOMENT_MS = 100;
/** Where nothing is wrong, each thread has heard how many they are within this time. */
const BEAT_MS = 3_000;
/** How soon nothing is on its way any more after something was wrong. */
const CALM_MS = 1_000;

/** A number that a gateway may believe. */
interface Belief {
  /** When it may have heard it last. */
  readonly earliestMs: number;
  readonly latestMs: number;
  /** When it certainly was a number that one of its threads may believe. */
  readonly heldMs: number;
}

/** What a gateway may take for the number of all gateways from this moment on. */
interface Heard {
  readonly fromMs: number;
  readonly counts: readonly number[];
}

/** Counts by a second hand the gateways that share a Redis, and follows what each of them has heard of that. */
export class ReplicaCounts {
  readonly #world: World;
  /** When each was heard of. */
  readonly #beatsMs = new Map<Owner, number>();
  readonly #beliefs = new Map<Owner, ReadonlyMap<number, Belief>>();
  readonly #heard = new Map<string, Heard[]>();
  /** Until when Redis may know of others. */
  #lostUntilMs = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Redis has lost some, and nobody knows which; or its clock has stepped, and keeps some for longer. */
  lose(): void {
    this.#lostUntilMs = this.#world.nowMs + 2 * LIFETIME_MS + MOMENT_MS;
  }

  /** Redis has answered this. */
  hear(sender: Sender, { name, args }: Sent, reply: Reply | undefined): void {
    const { process } = sender;
    if (name === 'zrem' && args[0] === KEY) this.#beatsMs.delete(process);
    if (!name.startsWith('eval') || args[2] !== KEY || !Array.isArray(reply)) return;
    const { nowMs } = this.#world;
    const count = Number(reply[2]);
    this.#beatsMs.set(process, nowMs);
    this.#compare(count, nowMs);
    // Nobody hears what its last life was told.
    if (process.isAlive) this.#believe(sender, count, nowMs);
  }

  /** What a gateway may have believed from then on, in order. Before, it knows only of itself. */
  heardBy(gateway: string, fromMs: number, untilMs: number | null): readonly Heard[] {
    const heard = this.#heard.get(gateway) ?? [];
    const inTime = heard.filter(each => each.fromMs >= fromMs && each.fromMs <= (untilMs ?? each.fromMs));
    return [{ fromMs: 0, counts: [1] }, ...inTime];
  }

  #compare(count: number, nowMs: number): void {
    for (const [process, atMs] of this.#beatsMs) {
      const lateMs = nowMs - atMs - LIFETIME_MS;
      if (Math.abs(lateMs) <= MOMENT_MS) return;
      if (lateMs > 0) this.#beatsMs.delete(process);
    }
    if (count !== this.#beatsMs.size && nowMs > this.#lostUntilMs)
      this.#world.wrong('replicas', `Redis counts ${count} gateways, and ${this.#beatsMs.size} have said so`);
  }

  #believe({ host, process }: Sender, count: number, nowMs: number): void {
    const before = this.#beliefs.get(process);
    const after = heardOf(before ?? new Map([[1, alone(nowMs)]]), count, nowMs, this.#doubtMs(host, nowMs));
    this.#beliefs.set(process, after);
    const counts = [...after.keys()].sort((one, other) => one - other);
    const heard = this.#heard.get(host) ?? [];
    this.#heard.set(host, heard);
    if (before === undefined || counts.join() !== heard.at(-1)?.counts.join())
      heard.push({ fromMs: nowMs, counts });
  }

  /** How long a thread of this gateway may go on with what it has heard, although Redis has said something else since. */
  #doubtMs(gateway: string, nowMs: number): number {
    const { troubles, workers } = this.#world;
    const doubtMs = workers > 1 ? BEAT_MS : 0;
    const isQuiet = troubles.isQuiet(gateway, nowMs - doubtMs - CALM_MS, nowMs);
    return isQuiet ? doubtMs : Number.POSITIVE_INFINITY;
  }
}

/** Of a gateway that has heard nothing yet: it takes itself for the only one. */
function alone(nowMs: number): Belief {
  return { earliestMs: Number.NEGATIVE_INFINITY, latestMs: Number.NEGATIVE_INFINITY, heldMs: nowMs };
}

/** What a gateway may believe after it was told a number. It believes a smaller one only after it has heard no larger one for a while. */
function heardOf(
  before: ReadonlyMap<number, Belief>,
  count: number,
  nowMs: number,
  doubtMs: number,
): ReadonlyMap<number, Belief> {
  const after = new Map<number, Belief>();
  let isBelieved = false;
  for (const [each, belief] of before) {
    const isSmaller = count < each;
    if (!isSmaller || nowMs - belief.earliestMs > LIFETIME_MS - MOMENT_MS) isBelieved = true;
    if (isSmaller && nowMs - belief.latestMs < LIFETIME_MS + MOMENT_MS)
      after.set(each, { ...belief, heldMs: nowMs });
    // One thread may not have been told.
    else if (nowMs - belief.heldMs < doubtMs) after.set(each, belief);
  }
  const earliestMs = after.get(count)?.earliestMs ?? nowMs;
  if (isBelieved) after.set(count, { earliestMs, latestMs: nowMs, heldMs: nowMs });
  return after;
}
