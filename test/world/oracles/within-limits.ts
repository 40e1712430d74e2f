import type { Life } from '../inhabitants/gateway.ts';
import type { World } from '../world.ts';
import type { Oracle } from './oracle.ts';
import { judgeSold } from './sold-quotas.ts';

/** A limit as limits.yaml says it. */
export interface LimitRule {
  readonly units: number;
  readonly periodMs: number;
  readonly algorithm: 'fixed' | 'smooth';
}

/** What the world knows of a line of the access log. */
export interface Decision {
  readonly requestId: string;
  /** When its request had come. */
  readonly cameMs: number;
  /** The same, or when it was decided, if that was before: a gateway may remember a refusal. */
  readonly beganMs: number;
  /** By the clock that the gateway counts by. */
  readonly atMs: number;
  readonly loggedMs: number;
  /** As its line says it. */
  readonly decidedAt: number;
  /** Whether it may be another that counted it. */
  readonly isDoubtful?: boolean;
  readonly who: string;
  readonly bucket: string | null;
  readonly decision: string;
  readonly draws: string;
  /** How it ended: what it cost, if its response told that, and whether what it drew went back; `null` while it goes on. */
  readonly end: { readonly price: number | null; readonly isReturned: boolean } | null;
}

/** From when on a rule has held. */
export interface Held {
  readonly fromMs: number;
  /** Whether it may have been another. */
  readonly isDoubtful?: boolean;
  readonly rule: LimitRule;
}

/** An operator has given a client a fresh allowance. */
interface Reset {
  readonly atMs: number;
  readonly who: string;
}

/** How exact the moments are that a log tells of a gateway whose clock has stepped. */
const ROUNDING_MS = 2;
/** Requests that end sooner than a kill are not in the log. */
export const UNTOLD_MS = 1_500;
/** How long something may take between threads that the log tells as one moment. */
const MOMENT_MS = 20;
/** Steps of a wall clock that are smaller are not followed: decisions are told by the clock from before. */
const STEP_MS = 1_000;

/**
 * Counts by a second hand, from the documents alone, what each gateway has admitted and refused in each of its lives: nothing above the limit
 * was admitted, and nothing below it was refused, so what was refused consumed nothing. Those that share a Redis count otherwise.
 */
export const withinLimits: Oracle = world => {
  if (world.sharing !== null) return;
  for (const gateway of world.gateways) {
    const { name, host, lives } = gateway;
    const isExact = followed(host.wallOffsetsMs).length === host.wallOffsetsMs.length;
    const momentMs = isExact ? MOMENT_MS : STEP_MS;
    const lived = lives.map(life => ({ life, decisions: decisionsIn(life, host.wallOffsetsMs) }));
    for (const { life, decisions } of lived) judgeLife(world, name, life, decisions, momentMs);
    judgeSold(world, gateway, lived, { momentMs, isKept: world.keepsState });
  }
};

/**
 * @param momentMs how exact the order is of what the log tells
 * @param share what rules become for this gateway
 */
export function judgeLife(
  world: World,
  name: string,
  life: Life,
  decisions: readonly Decision[],
  momentMs: number,
  share: (rules: readonly Held[]) => readonly Held[] = rules => rules,
): void {
  const { global, words } = world.limits;
  const where = (what: string) => `${name}: ${what}`;
  const always = (rule: LimitRule) => share([{ fromMs: 0, rule }]);
  const told = (bucket: string | null) => ({ life, momentMs, bucket });
  if (global !== null)
    judge(world, where('global'), always(global), ofGlobal(decisions), 'global', told(null));
  const things = ofBucket(decisions, 'things');
  judge(world, where('things'), share(rulesIn(life)), things, 'caller', told('things'));
  judge(world, where('words'), always(words), ofBucket(decisions, 'words'), 'caller', told('words'));
}

export function ofBucket(decisions: readonly Decision[], name: string): readonly Decision[] {
  return decisions.filter(({ bucket, draws }) => bucket === name && draws !== 'global' && draws !== 'none');
}

function ofGlobal(decisions: readonly Decision[]): readonly Decision[] {
  return decisions.filter(({ draws }) => draws !== 'bucket' && draws !== 'none');
}

/** The log of a life, and how exact the order is of what it tells of a bucket; `null`: of all requests. */
interface Told {
  readonly life: Life;
  readonly momentMs: number;
  readonly bucket: string | null;
}

/** @param refused what the log calls a refusal by this limit */
function judge(
  world: World,
  where: string,
  rules: readonly Held[],
  decisions: readonly Decision[],
  refused: string,
  { life, momentMs, bucket }: Told,
): void {
  const counters = new Map<string, Counter>();
  const resets = resetsIn(life, bucket);
  const toldUntilMs = life.endedBy === 'kill' ? (life.untilMs ?? 0) - UNTOLD_MS : Number.POSITIVE_INFINITY;
  for (const { who, beganMs, atMs, decision, loggedMs, requestId, isDoubtful } of decisions) {
    const counter = counters.get(who) ?? new Counter();
    counters.set(who, counter);
    const possible = possibleRules(rules, beganMs, atMs, momentMs);
    const [held] = possible;
    if (held === undefined) throw new Error('no rule held');
    const { rule } = held;
    for (const reset of resets) {
      const isOver = counter.seenMs > reset.atMs + momentMs;
      if (reset.who !== who || reset.atMs > atMs + momentMs || isOver) continue;
      // Whether it came before or after one of them is not known.
      if (reset.atMs > atMs - momentMs || counter.seenMs > reset.atMs - momentMs) counter.lose();
      else counter.reset();
    }
    // Which number counts for it is not known, or who counted it.
    if (possible.length > 1 || held.isDoubtful || isDoubtful) counter.lose();
    counter.seenMs = atMs;
    if (decision === 'admitted') {
      if (!counter.admits(rule, atMs, -ROUNDING_MS))
        world.wrong('within limits', `${where}: ${requestId} of ${who} was admitted beyond ${words(rule)}`);
      counter.consume(rule, atMs);
    } else if (
      decision === refused &&
      loggedMs < toldUntilMs &&
      !counter.isLost(atMs) &&
      counter.admits(rule, atMs, ROUNDING_MS)
    )
      world.wrong('within limits', `${where}: ${requestId} of ${who} was refused below ${words(rule)}`);
  }
}

/** The rules that may have held between two moments. @param momentMs how exact these are */
export function possibleRules(
  rules: readonly Held[],
  beganMs: number,
  atMs: number,
  momentMs: number,
): readonly Held[] {
  return rules.filter(
    ({ fromMs }, i) =>
      fromMs <= atMs + momentMs && (rules[i + 1]?.fromMs ?? Number.POSITIVE_INFINITY) >= beganMs - momentMs,
  );
}

/** The rules of the bucket `things` in a life, one after the other, as its log tells them. */
function rulesIn({ things, lines }: Life): readonly Held[] {
  const rules: Held[] = [{ fromMs: 0, rule: things }];
  for (const { atMs, text } of lines) {
    const { type, changes } = JSON.parse(text) as {
      readonly type: string;
      readonly changes?: readonly unknown[];
    };
    if (type !== 'reload') continue;
    const [, units] = /bucket things: [^"]*?(\d+) in \S+, before/.exec(JSON.stringify(changes ?? [])) ?? [];
    if (units !== undefined) rules.push({ fromMs: atMs, rule: { ...things, units: Number(units) } });
  }
  return rules;
}

export function resetsIn({ lines }: Life, limited: string | null): readonly Reset[] {
  const resets: Reset[] = [];
  for (const { atMs, text } of lines) {
    const { type, change, bucket, client } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (type !== 'admin' || change !== 'buckets_reset') continue;
    if (bucket === limited || bucket === null) resets.push({ atMs, who: String(client) });
  }
  return resets;
}

function words({ units, periodMs, algorithm }: LimitRule): string {
  return `${units}/${periodMs / 1_000}s (${algorithm})`;
}

/** What one caller has consumed. The number of the limit may change meanwhile. */
export class Counter {
  /** When the window closes; when everything is free again, if it is smooth. */
  #resetMs = Number.NEGATIVE_INFINITY;
  #count = 0;
  /** Until when it is not known what has been consumed. */
  #lostUntilMs = Number.NEGATIVE_INFINITY;
  /** When its last decision was. */
  seenMs = Number.NEGATIVE_INFINITY;

  /** It is not known any more what this caller has consumed, until it has consumed nothing for two periods. */
  lose(): void {
    this.#lostUntilMs = Number.POSITIVE_INFINITY;
  }

  isLost(nowMs: number): boolean {
    return nowMs < this.#lostUntilMs;
  }

  /** All is free again. */
  reset(): void {
    this.#resetMs = Number.NEGATIVE_INFINITY;
    this.#count = 0;
  }

  /** @param strictMs how much too early it may be for an answer of no, or must be for an answer of yes */
  admits({ units, periodMs, algorithm }: LimitRule, nowMs: number, strictMs: number): boolean {
    if (this.isLost(nowMs)) return true;
    const slackMs = strictMs > 0 ? 0 : Math.min(20, periodMs / 50);
    const earliestMs =
      algorithm === 'smooth'
        ? this.#resetMs - periodMs + periodMs / units
        : this.#count < units
          ? Number.NEGATIVE_INFINITY
          : this.#resetMs;
    return nowMs - strictMs >= earliestMs - slackMs;
  }

  consume(rule: LimitRule, nowMs: number): void {
    const { units, periodMs, algorithm } = rule;
    if (this.isLost(nowMs)) {
      this.#lostUntilMs = nowMs + 2 * periodMs;
      this.reset();
    } else if (algorithm === 'smooth') this.#resetMs = Math.max(nowMs, this.#resetMs) + periodMs / units;
    else if (nowMs >= this.#resetMs) this.#open(nowMs + periodMs);
    else if (this.#count >= units) this.#open(this.#resetMs + periodMs);
    else this.#count++;
  }

  #open(resetMs: number): void {
    this.#resetMs = resetMs;
    this.#count = 1;
  }
}

/** The decisions of a life, in order. What was admitted comes first among those of one moment. */
export function decisionsIn(life: Life, wallOffsetsMs: readonly number[]): readonly Decision[] {
  const offsetsMs = followed(wallOffsetsMs);
  const decisions = new Map<string, Decision>();
  for (const { atMs, text } of life.lines) {
    const line = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if ((line.type !== 'access' && line.type !== 'admission') || typeof line.decision !== 'string') continue;
    const requestId = String(line.requestId);
    const decidedAt = Number(line.decidedAt);
    const cameMs = atMs - Number(line.durationMs ?? 1_000);
    const trueMs = trueOf(decidedAt, cameMs, offsetsMs);
    decisions.set(requestId, {
      ...{ requestId, loggedMs: atMs, decision: line.decision, draws: String(line.draws ?? 'all') },
      ...{ atMs: trueMs, decidedAt, cameMs },
      beganMs: Math.min(trueMs, cameMs),
      who: String(line.caller ?? line.client),
      bucket: typeof line.bucket === 'string' ? line.bucket : null,
      end: line.type === 'access' ? endOf(line) : null,
    });
  }
  const isAdmitted = ({ decision }: Decision) => (decision === 'admitted' ? 0 : 1);
  return [...decisions.values()].sort(
    (one, other) => one.atMs - other.atMs || isAdmitted(one) - isAdmitted(other),
  );
}

function endOf({ price, returnedAt }: Readonly<Record<string, unknown>>): Decision['end'] {
  return { price: typeof price === 'number' ? price : null, isReturned: returnedAt !== undefined };
}

/** Leaves out steps that are too small for the clock that a gateway counts by to follow them. */
export function followed(offsetsMs: readonly number[]): readonly number[] {
  const [first = 0, ...later] = offsetsMs;
  const kept = [first];
  for (const ms of later) if (Math.abs(ms - (kept.at(-1) ?? 0)) > STEP_MS) kept.push(ms);
  return kept;
}

/** Takes the steps of a wall clock out of a moment, which was about then. */
function trueOf(epochMs: number, aboutMs: number, offsetsMs: readonly number[]): number {
  const possible = offsetsMs.map(offsetMs => epochMs - offsetMs);
  return possible.reduce((one, other) => (Math.abs(other - aboutMs) < Math.abs(one - aboutMs) ? other : one));
}
