import type { Life, WorldGateway } from '../inhabitants/gateway.ts';
import type { World } from '../world.ts';
import type { Oracle } from './oracle.ts';
import { judgeSold } from './sold-quotas.ts';
import { type Decision, decisionsIn, type Held, judgeLife } from './within-limits.ts';

/** How soon a gateway counts in Redis again after something was wrong between them, or after it has started. */
const RETURN_MS = 5_000;
/** How long a gateway refuses without asking after Redis has refused, and a little more. */
const KNOWN_MS = 1_100;
/** How soon nothing is on its way any more after something was wrong. */
const CALM_MS = 1_000;
/** How exact the moments are of what a gateway did alone: a fresh allowance is told when Redis has answered, or has not. */
const MOMENT_MS = 1_000;
/** How exact the moments are at which a place is taken and free: Redis dates what it decides by a clock of its own, and its reply takes time. */
const PLACE_MS = 250;

/**
 * While a gateway counts by itself, it admits no more than its share of each limit, and refuses nothing below it: the limit divided by the gateways that it
 * has heard of, rounded down, and at least one. Where `on_failure` is not `local`, nothing but Redis refuses. When Redis is back, it counts again.
 */
export const ownShares: Oracle = world => {
  if (world.sharing === null) return;
  for (const gateway of world.gateways)
    for (const life of gateway.lives) {
      const decisions = decisionsIn(life, gateway.host.wallOffsetsMs).filter(each => isLimited(world, each));
      const alone = decisions.filter(each => decidedMs(world, gateway, each) === null);
      for (const each of decisions) judgeReturn(world, gateway, life, each);
      if (world.sharing.policy === 'local') judgeAlone(world, gateway, life, decisions);
      else for (const each of alone) judgeRefusal(world, gateway, each);
    }
};

function isLimited({ limits: { global } }: World, { bucket, draws }: Decision): boolean {
  if (draws === 'none') return false;
  const counted = draws === 'global' ? null : bucket;
  return counted !== null || (global !== null && draws !== 'bucket');
}

/** When Redis has decided it; `null`: it has not. */
function decidedMs({ sharing }: World, { name }: WorldGateway, { decidedAt }: Decision): number | null {
  return sharing?.counts.decidedMs(name, decidedAt) ?? null;
}

function judgeReturn(world: World, gateway: WorldGateway, life: Life, each: Decision): void {
  const { atMs, beganMs, cameMs, loggedMs, requestId, decision } = each;
  const redisMs = decidedMs(world, gateway, each);
  const wrong = (what: string) =>
    world.wrong('counted again', `${gateway.name}: ${requestId} was ${decision}, ${what}`);
  const fromMs = beganMs - RETURN_MS;
  const isQuiet = fromMs > life.fromMs && world.troubles.isQuiet(gateway.name, fromMs, loggedMs);
  if (redisMs === null && isQuiet) wrong('and Redis was there and was not asked');
  // What a gateway decides itself is dated then, by its own clock. If that is wrong, Redis may once have said the same moment.
  const isOwn = Math.abs(cameMs - atMs) < KNOWN_MS;
  if (redisMs !== null && decision !== 'admitted' && cameMs > redisMs + KNOWN_MS && !isOwn)
    wrong(`as Redis said ${(cameMs - redisMs).toFixed()} ms before`);
}

function judgeRefusal(world: World, { name }: WorldGateway, { decision, requestId }: Decision): void {
  if (decision !== 'admitted')
    world.wrong('own shares', `${name}: ${requestId} is refused by ${decision}, and not by Redis`);
}

function judgeAlone(world: World, gateway: WorldGateway, life: Life, decisions: readonly Decision[]): void {
  const { name } = gateway;
  const alone = decisions.flatMap(each => {
    if (decidedMs(world, gateway, each) === null) return [each];
    // By chance, Redis may have decided something else at that moment.
    const isQuiet = world.troubles.isQuiet(name, each.beganMs - CALM_MS, each.loggedMs);
    return isQuiet ? [] : [{ ...each, isDoubtful: true }];
  });
  const share = (rules: readonly Held[]) => sharesOf(world, name, life, rules);
  judgeLife(world, name, life, alone, MOMENT_MS, share);
  judgeSold(world, gateway, [{ life, decisions: alone }], { momentMs: MOMENT_MS, share });
  const places = share([{ fromMs: 0, rule: { units: world.mostHeld, periodMs: 1, algorithm: 'fixed' } }]);
  for (const each of alone)
    if (each.bucket === 'held') judgePlace(world, gateway, places, each, { decisions, alone });
}

/** Those that are certainly in flight hold places of this gateway, whichever gateway admitted them. */
function judgePlace(
  world: World,
  gateway: WorldGateway,
  shares: readonly Held[],
  each: Decision,
  { decisions, alone }: { readonly decisions: readonly Decision[]; readonly alone: readonly Decision[] },
): void {
  const { decision, requestId, who, atMs, beganMs, cameMs, isDoubtful } = each;
  if (decision !== 'admitted' || isDoubtful === true) return;
  const holdsPlace = (other: Decision) =>
    other.bucket === 'held' &&
    other.decision === 'admitted' &&
    other.who === who &&
    other.loggedMs > Math.max(atMs, cameMs) + PLACE_MS;
  // One clock orders these exactly.
  const before = alone.slice(0, alone.indexOf(each)).filter(other => other.isDoubtful !== true);
  const ids = new Set([requestId, ...before.map(other => other.requestId)]);
  const earlier = decisions.filter(
    other =>
      !ids.has(other.requestId) && (decidedMs(world, gateway, other) ?? other.atMs) < beganMs - PLACE_MS,
  );
  const inFlight = [...before, ...earlier].filter(holdsPlace).length;
  const most = mostUnits(shares, atMs - MOMENT_MS, atMs + PLACE_MS);
  if (inFlight >= most)
    world.wrong('own shares', `${gateway.name}: ${requestId} is one more than ${most} in flight`);
}

/** The largest share that was possible then. */
function mostUnits(shares: readonly Held[], fromMs: number, untilMs: number): number {
  const possible = shares.filter(
    (each, i) => each.fromMs <= untilMs && (shares[i + 1]?.fromMs ?? untilMs) >= fromMs,
  );
  return Math.max(...possible.map(({ rule }) => rule.units));
}

/** The shares that a gateway has had of a limit, one after the other. */
function sharesOf({ sharing }: World, name: string, life: Life, rules: readonly Held[]): readonly Held[] {
  const heard = sharing?.counts.replicas.heardBy(name, life.fromMs, life.untilMs) ?? [];
  const changesMs = [...new Set([...rules, ...heard].map(({ fromMs }) => fromMs))].sort((a, b) => a - b);
  return changesMs.flatMap(fromMs => {
    const held = rules.findLast(each => each.fromMs <= fromMs);
    const counts = heard.findLast(each => each.fromMs <= fromMs)?.counts ?? [];
    if (held === undefined) return [];
    const shares = counts.map(count => Math.max(1, Math.floor(held.rule.units / count)));
    const units = Math.max(1, ...shares);
    return [{ fromMs, rule: { ...held.rule, units }, isDoubtful: new Set(shares).size > 1 }];
  });
}
