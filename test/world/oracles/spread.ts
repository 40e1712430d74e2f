import type { WorldGateway } from '../inhabitants/gateway.ts';
import type { World } from '../world.ts';

/** How soon what a gateway knows is on its disk, and known to all that share its Redis. */
export const PROMISE_MS = 1_000;
/** How soon a gateway and Redis work together again after something went wrong between them. */
const RECOVERY_MS = 5_000;
const STEP_MS = 50;

/** Something that a gateway must not forget, and has to tell those that share its Redis. */
export interface Fact {
  /** Who learned of it first, in which of its lives, and when. */
  readonly gateway: WorldGateway;
  readonly life: number;
  readonly fromMs: number;
  /** Whether it lasts so short that a clock which steps can end it. */
  readonly isShort: boolean;
}

/** What a gateway knows: since when in this life; `null`: it may not know it. */
interface Knower {
  life: number;
  sinceMs: number | null;
}

/**
 * Whether a gateway must know of this at that moment. One that has heard of it knows it for the rest of its life, and afterwards if it keeps state and
 * has lived on for a second. While all is quiet, Redis holds what one of them knows, and the others learn of it within a second.
 */
export function mustKnow(world: World, fact: Fact, gateway: WorldGateway, atMs: number): boolean {
  const knowers = new Map<WorldGateway, Knower>();
  for (const each of world.gateways)
    knowers.set(each, {
      life: lifeAt(each, fact.fromMs),
      sinceMs: each === fact.gateway ? fact.fromMs : null,
    });
  if (knowers.get(fact.gateway)?.life !== fact.life) return false;
  let heldMs: number | null = null;
  for (let nextMs = fact.fromMs; nextMs < atMs + STEP_MS; nextMs += STEP_MS) {
    const nowMs = Math.min(nextMs, atMs);
    if (world.troubles.hasLost(nowMs - STEP_MS, nowMs)) heldMs = null;
    for (const [each, knower] of knowers) {
      outlive(world, fact, each, knower, nowMs);
      const bornMs = each.lives[knower.life - 1]?.fromMs ?? Number.POSITIVE_INFINITY;
      const isAlive = (each.lives[knower.life - 1]?.untilMs ?? Number.POSITIVE_INFINITY) > nowMs;
      if (
        world.sharing === null ||
        !isAlive ||
        !world.troubles.isQuiet(each.name, nowMs - RECOVERY_MS, nowMs)
      )
        continue;
      if (fact.isShort && world.troubles.hasStepped(fact.fromMs, nowMs)) continue;
      if (knower.sinceMs !== null) heldMs ??= nowMs;
      else if (heldMs !== null && nowMs - Math.max(heldMs, bornMs) >= PROMISE_MS) knower.sinceMs = nowMs;
    }
  }
  return knowers.get(gateway)?.sinceMs != null;
}

/** Whether nothing has been wrong between a gateway and what it shares since then, nor shortly before. */
export function isCalm({ sharing, troubles, nowMs }: World, gateway: WorldGateway, sinceMs: number): boolean {
  const fromMs = sinceMs - RECOVERY_MS;
  if (sharing === null) return true;
  return troubles.isQuiet(gateway.name, fromMs, nowMs) && !troubles.hasStepped(fromMs, nowMs);
}

/** Carries what a gateway knows over to its next life, if it has begun. */
function outlive(
  world: World,
  { isShort }: Fact,
  gateway: WorldGateway,
  knower: Knower,
  nowMs: number,
): void {
  const life = lifeAt(gateway, nowMs);
  if (life === knower.life) return;
  const diedMs = gateway.lives[knower.life - 1]?.untilMs ?? nowMs;
  const isClockRight = !isShort || gateway.host.wallOffsetsMs.length === 1;
  const isKept = knower.sinceMs !== null && diedMs - knower.sinceMs > PROMISE_MS;
  // It takes a moment until it has read them.
  knower.sinceMs = world.keepsState && isClockRight && isKept ? nowMs : null;
  knower.life = life;
}

/** Counts from 1; the last one that had begun by then. */
function lifeAt({ lives }: WorldGateway, atMs: number): number {
  return lives.filter(({ fromMs }) => fromMs <= atMs).length;
}
