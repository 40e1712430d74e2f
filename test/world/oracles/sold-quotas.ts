import type { CalendarUnit } from '../../../src/limits/counting/calendar.ts';
import type { Life, WorldGateway } from '../inhabitants/gateway.ts';
import type { Night } from '../night.ts';
import { endAfter } from '../night.ts';
import type { World } from '../world.ts';
import type { Oracle } from './oracle.ts';
import type { Decision, Held } from './within-limits.ts';
import { followed, ofBucket, possibleRules, resetsIn, UNTOLD_MS } from './within-limits.ts';

/** A quota of the bucket `sold`. */
export interface SoldQuota {
  readonly units: number;
  readonly calendar: CalendarUnit;
  /** Whether it counts what requests cost. */
  readonly isOfCosts: boolean;
}

/** What limits.yaml says of the bucket `sold`. */
export interface SoldQuotas {
  readonly quotas: readonly SoldQuota[];
  /** What a request draws until its price is known, and the most that it costs; `null`: all quotas count requests. */
  readonly price: { readonly reserve: number; readonly most: number } | null;
  /** Whether what ended with 5xx is given back. */
  readonly givesBack: boolean;
}

/** The path of the bucket. */
export const SOLD = '/v1/sold';
/** The field in which the service tells a price. */
export const PRICE_FIELD = 'x-usage';

/** How long before its end a window counts as over for those who would be refused. */
const SLACK_MS = 20;

/** How much has been drawn, as far as is known. */
interface Amount {
  readonly least: number;
  readonly most: number;
}

/** What one request draws: first when it is admitted, and in the end. */
interface Draw {
  /** What was over before has gone before it, in true time. */
  readonly atMs: number;
  readonly first: Amount;
  readonly last: Amount;
  /** Since when the last is certain, in true time. */
  readonly overMs: number;
}

/** A range of what a limit may be. */
interface Units {
  readonly fewest: number;
  readonly most: number;
}

const NOTHING: Amount = { least: 0, most: 0 };

/** What is drawn of a quota whose windows are periods of the calendar. Moments are of the wall clock that it is counted by, unless noted. */
export class CalendarCounter {
  readonly #night: Night;
  readonly #unit: CalendarUnit;
  #endMs = Number.NEGATIVE_INFINITY;
  /** What was drawn of this window, but for the draws. */
  #base: Amount = NOTHING;
  #draws: Draw[] = [];
  /** The most that may have been drawn of the next window, in the slack of this one. */
  #early = 0;
  /** What has gone back to this window. */
  #returned = 0;
  /** When its last decision was, in true time. */
  seenMs = Number.NEGATIVE_INFINITY;

  constructor(night: Night, unit: CalendarUnit) {
    this.#night = night;
    this.#unit = unit;
  }

  /** Whether a request may be admitted. @param trueMs in true time */
  mayAdmit(units: number, cost: number, nowMs: number, trueMs: number): boolean {
    return nowMs >= this.#endMs - SLACK_MS || this.#at(trueMs).least + Math.min(cost, units) <= units;
  }

  /** Whether a request must be admitted. @param trueMs in true time */
  mustAdmit(units: number, cost: number, nowMs: number, trueMs: number): boolean {
    if (nowMs >= this.#endMs) return true;
    if (nowMs >= this.#endMs - SLACK_MS) return this.#early + Math.min(cost, units) <= units;
    return this.#at(trueMs).most + Math.min(cost, units) <= units;
  }

  draw(draw: Draw, cost: number, { fewest, most: units }: Units, nowMs: number): void {
    if (nowMs >= this.#endMs) this.#open(nowMs);
    else if (nowMs >= this.#endMs - SLACK_MS) {
      const { least, most } = this.#at(draw.atMs);
      const lacksRoom = least + Math.min(cost, units) > units;
      if (lacksRoom) this.#open(this.#endMs);
      else if (most + Math.min(cost, fewest) > fewest)
        this.#early += Math.max(draw.first.most, draw.last.most);
    }
    this.#draws.push(draw);
  }

  /** Units go back to the window that ends then, or more are drawn of it. */
  refund(endMs: number, units: number, nowMs: number): void {
    if (endMs !== this.#endMs || nowMs >= endMs) return;
    this.#returned += Math.max(0, units);
    const { least, most } = this.#at(Number.POSITIVE_INFINITY);
    this.#base = { least: Math.max(0, least - units), most: Math.max(0, most - units) };
    this.#draws = [];
  }

  /** All is free again, but what is under way may still draw or give back. @param isSure whether it was then, in true time */
  reset(trueMs: number, isSure: boolean): void {
    const { most } = this.#at(trueMs);
    const open = this.#draws.filter(({ overMs }) => overMs >= trueMs);
    const back = open.map(({ first, last }) => Math.max(0, first.most - last.least));
    const more = open.map(({ first, last }) => Math.max(0, last.most - first.least));
    this.#base = { least: -sum(back), most: sum(more) + (isSure ? 0 : most) };
    this.#draws = [];
  }

  /** Some of it, or what went back, may be forgotten. */
  lose(): void {
    this.#base = { least: 0, most: this.#at(Number.POSITIVE_INFINITY).most + this.#returned };
    this.#draws = [];
  }

  /** A gateway that keeps counters was killed: what it has drawn shortly before may be forgotten. @param trueMs in true time */
  outlive(trueMs: number): void {
    const { most } = this.#at(Number.POSITIVE_INFINITY);
    this.#draws = this.#draws.filter(({ atMs }) => atMs < trueMs);
    this.#base = { least: this.#at(trueMs).least, most };
    this.#draws = [];
  }

  #at(trueMs: number): Amount {
    let { least, most } = this.#base;
    for (const { first, last, overMs } of this.#draws) {
      const isOver = overMs < trueMs;
      least += isOver ? last.least : Math.min(first.least, last.least);
      most += isOver ? last.most : Math.max(first.most, last.most);
    }
    return { least, most };
  }

  #open(nowMs: number): void {
    this.#endMs = endAfter(this.#night, this.#unit, nowMs);
    this.#base = { least: 0, most: this.#early };
    this.#draws = [];
    this.#early = 0;
    this.#returned = 0;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

/** The decisions of a life of a gateway. */
export interface Lived {
  readonly life: Life;
  readonly decisions: readonly Decision[];
}

export interface JudgeSoldOptions {
  /** How exact the order is of what the log tells. */
  readonly momentMs: number;
  /** What rules become for this gateway. */
  readonly share?: (rules: readonly Held[]) => readonly Held[];
  /** Whether counters outlive it. */
  readonly isKept?: boolean;
}

/**
 * Counts by a second hand what a gateway has admitted and refused of the bucket `sold` in its lives: all windows of a request admit it and are drawn on, or
 * none is. Days end by the wall clock that the gateway counts by.
 */
export function judgeSold(
  world: World,
  { name, host: { wallOffsetsMs } }: WorldGateway,
  lives: readonly Lived[],
  { momentMs, share = rules => rules, isKept = false }: JudgeSoldOptions,
): void {
  const { quotas } = world.sold;
  // A day that was over may come back, and nobody remembers it.
  if (followed(wallOffsetsMs).length > 2) return;
  const hasStepped = wallOffsetsMs.length > 1;
  const rules = quotas.map(({ units }) =>
    share([{ fromMs: 0, rule: { units, periodMs: 1, algorithm: 'fixed' } }]),
  );
  let counters = new Map<string, CalendarCounter[]>();
  /** Until when it is not known what has been drawn at most, by the wall clock. */
  let unknownUntilMs = Number.NEGATIVE_INFINITY;
  for (const { life, decisions } of lives) {
    const resets = resetsIn(life, 'sold');
    const killedMs = life.endedBy === 'kill' ? (life.untilMs ?? 0) : Number.POSITIVE_INFINITY;
    for (const each of ofBucket(decisions, 'sold')) {
      const { who, atMs, beganMs, loggedMs, decidedAt, decision, requestId, isDoubtful = false } = each;
      // The clock that it was decided by may go fast.
      const knownMs = beganMs - momentMs;
      const own =
        counters.get(who) ?? quotas.map(({ calendar }) => new CalendarCounter(world.night, calendar));
      counters.set(who, own);
      for (const reset of resets) {
        const [first] = own;
        const seenMs = first?.seenMs ?? 0;
        if (reset.who !== who || reset.atMs > atMs + momentMs || seenMs > reset.atMs + momentMs) continue;
        const isSure = reset.atMs <= knownMs && seenMs <= reset.atMs - momentMs;
        for (const counter of own) counter.reset(reset.atMs, isSure);
      }
      const windows = own.map((counter, at) => {
        const possible = possibleRules(rules[at] ?? [], beganMs, atMs, momentMs);
        const all = possible.map(({ rule }) => rule.units);
        const units = { fewest: Math.min(...all), most: Math.max(...all) };
        const doubtful = isDoubtful || possible.some(held => held.isDoubtful);
        return {
          counter,
          units,
          cost: costOf(world, at),
          draw: drawOf(world, each, at, knownMs, hasStepped),
          doubtful,
        };
      });
      const isClear = windows.every(({ doubtful }) => !doubtful);
      for (const { counter } of windows) counter.seenMs = atMs;
      if (decision === 'admitted') {
        for (const { counter, units, cost, draw } of windows) {
          if (isClear && !counter.mayAdmit(units.most, cost, decidedAt, knownMs))
            world.wrong(
              'within limits',
              `${name}: sold: ${requestId} of ${who} was admitted beyond ${units.most}`,
            );
          counter.draw(draw, cost, units, decidedAt);
        }
      } else if (
        decision === 'caller' &&
        isClear &&
        loggedMs < killedMs - UNTOLD_MS &&
        decidedAt >= unknownUntilMs
      ) {
        if (
          windows.every(({ counter, units, cost }) =>
            counter.mustAdmit(units.fewest, cost, decidedAt, knownMs),
          )
        )
          world.wrong('within limits', `${name}: sold: ${requestId} of ${who} was refused below every quota`);
      }
    }
    if (life.endedBy !== 'kill') continue;
    if (!isKept) counters = new Map();
    for (const counter of [...counters.values()].flat()) counter.outlive(killedMs - UNTOLD_MS);
    // What was decided shortly before is not in the log, and may be kept.
    for (const { calendar } of isKept ? quotas : [])
      for (const offsetMs of wallOffsetsMs) {
        const endMs = endAfter(world.night, calendar, killedMs + offsetMs + SLACK_MS);
        unknownUntilMs = Math.max(unknownUntilMs, endMs);
      }
  }
}

/** What a request draws of a quota when it is admitted. */
function costOf({ sold: { quotas, price } }: World, at: number): number {
  return quotas[at]?.isOfCosts === true ? (price?.reserve ?? 1) : 1;
}

/** @param isUnsure whether the moment is not known at which the last amount was drawn */
function drawOf(
  world: World,
  { loggedMs, end, isDoubtful }: Decision,
  at: number,
  atMs: number,
  isUnsure: boolean,
): Draw {
  const { quotas, price, givesBack } = world.sold;
  const cost = costOf(world, at);
  const isOfCosts = quotas[at]?.isOfCosts === true;
  const first = { least: isDoubtful === true ? 0 : cost, most: cost };
  const most = isOfCosts ? (price?.most ?? cost) : cost;
  // While it goes on, nobody knows what it will be.
  if (end === null)
    return {
      atMs,
      first,
      last: { least: givesBack || isOfCosts ? 0 : cost, most },
      overMs: Number.POSITIVE_INFINITY,
    };
  const last = end.isReturned ? 0 : isOfCosts ? (end.price ?? cost) : cost;
  return {
    ...{ atMs, first, last: { least: isDoubtful === true ? 0 : last, most: last } },
    overMs: isUnsure ? Number.POSITIVE_INFINITY : loggedMs,
  };
}

/** Each request costs what its service has told; without a word of it, the reserve; and clients never see the field. */
export const pricesTold: Oracle = world => {
  const { price, givesBack } = world.sold;
  const lines = new Map<string, Readonly<Record<string, unknown>>>();
  for (const { text } of world.gateways.flatMap(({ lives }) => lives.flatMap(life => life.lines))) {
    const line = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (line['type'] === 'access') lines.set(String(line['requestId']), line);
  }
  for (const { id, path, fields, arrivals, told, outcome } of world.requests.all) {
    if (price !== null && fields.has(PRICE_FIELD)) world.wrong('prices', `${id} got the price`);
    const line = lines.get(fields.get('x-request-id') ?? '');
    if (path !== SOLD || line === undefined || outcome !== 'answered' || line['decision'] !== 'admitted')
      continue;
    const isOf5xx = Number(line['status']) >= 500;
    // Where limits are not enforced without Redis, nothing may have been drawn.
    const hasDrawn = line['draws'] === undefined && world.sharing?.policy !== 'open';
    if (hasDrawn && (line['returnedAt'] !== undefined) !== (givesBack && isOf5xx))
      world.wrong('prices', `${id} ended with ${line['status']}, and was returned: ${line['returnedAt']}`);
    if (price === null || arrivals.length !== 1 || fields.get('x-world') !== id) continue;
    const expected = Math.min(told ?? price.reserve, price.most);
    if (line['price'] !== expected)
      world.wrong('prices', `${id} cost ${line['price']}, and the service said ${told}`);
  }
};
