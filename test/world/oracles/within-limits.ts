import type { Life } from '../inhabitants/gateway.ts';
import type { World } from '../world.ts';
import type { Oracle } from './oracle.ts';

/** A limit as limits.yaml says it. */
export interface LimitRule {
  readonly units: number;
  readonly periodMs: number;
  readonly algorithm: 'fixed' | 'smooth';
}

/** What the world knows of a line of the access log. */
interface Decision {
  readonly requestId: string;
  /** By the clock that the gateway counts by. */
  readonly atMs: number;
  readonly loggedMs: number;
  readonly who: string;
  readonly bucket: string | null;
  readonly decision: string;
  readonly draws: string;
}

/** How exact the moments are that a log tells of a gateway whose clock has stepped. */
const ROUNDING_MS = 2;
/** Requests that end sooner than a kill are not in the log. */
const UNTOLD_MS = 1_500;

/**
 * Counts by a second hand, from the documents alone, what each gateway has admitted and refused in each of its lives: nothing above the limit
 * was admitted, and nothing below it was refused, so what was refused consumed nothing. Those that share a Redis count otherwise.
 */
export const withinLimits: Oracle = world => {
  if (world.sharing !== null) return;
  for (const { name, host, lives } of world.gateways) {
    for (const life of lives) {
      const decisions = decisionsIn(life, followed(host.wallOffsetsMs));
      const { global, things } = world.limits;
      const where = (what: string) => `${name}: ${what}`;
      if (global !== null) judge(world, where('global'), global, ofGlobal(decisions), 'global', life);
      judge(world, where('things'), things, ofBucket(decisions), 'caller', life);
    }
  }
};

function ofBucket(decisions: readonly Decision[]): readonly Decision[] {
  return decisions.filter(
    ({ bucket, draws }) => bucket === 'things' && draws !== 'global' && draws !== 'none',
  );
}

function ofGlobal(decisions: readonly Decision[]): readonly Decision[] {
  return decisions.filter(({ draws }) => draws !== 'bucket' && draws !== 'none');
}

/** @param refused what the log calls a refusal by this limit */
function judge(
  world: World,
  where: string,
  rule: LimitRule,
  decisions: readonly Decision[],
  refused: string,
  life: Life,
): void {
  const counters = new Map<string, Counter>();
  const toldUntilMs = life.endedBy === 'kill' ? (life.untilMs ?? 0) - UNTOLD_MS : Number.POSITIVE_INFINITY;
  for (const { who, atMs, decision, loggedMs, requestId } of decisions) {
    const counter = counters.get(who) ?? new Counter(rule);
    counters.set(who, counter);
    if (decision === 'admitted') {
      if (!counter.admits(atMs, -ROUNDING_MS))
        world.wrong('within limits', `${where}: ${requestId} of ${who} was admitted beyond ${words(rule)}`);
      counter.consume(atMs);
    } else if (decision === refused && loggedMs < toldUntilMs && counter.admits(atMs, ROUNDING_MS))
      world.wrong('within limits', `${where}: ${requestId} of ${who} was refused below ${words(rule)}`);
  }
}

function words({ units, periodMs, algorithm }: LimitRule): string {
  return `${units}/${periodMs / 1_000}s (${algorithm})`;
}

/** What one caller has consumed. */
export class Counter {
  readonly #rule: LimitRule;
  readonly #slackMs: number;
  /** When the window closes; when everything is free again, if it is smooth. */
  #resetMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(rule: LimitRule) {
    this.#rule = rule;
    this.#slackMs = Math.min(20, rule.periodMs / 50);
  }

  /** @param strictMs how much too early it may be for an answer of no, or must be for an answer of yes */
  admits(nowMs: number, strictMs: number): boolean {
    const { units, periodMs, algorithm } = this.#rule;
    const slackMs = strictMs > 0 ? 0 : this.#slackMs;
    const earliestMs =
      algorithm === 'smooth'
        ? this.#resetMs - periodMs + periodMs / units
        : this.#count < units
          ? Number.NEGATIVE_INFINITY
          : this.#resetMs;
    return nowMs - strictMs >= earliestMs - slackMs;
  }

  consume(nowMs: number): void {
    const { units, periodMs, algorithm } = this.#rule;
    if (algorithm === 'smooth') this.#resetMs = Math.max(nowMs, this.#resetMs) + periodMs / units;
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
function decisionsIn(life: Life, offsetsMs: readonly number[]): readonly Decision[] {
  const decisions = new Map<string, Decision>();
  for (const { atMs, text } of life.lines) {
    const line = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if ((line.type !== 'access' && line.type !== 'admission') || typeof line.decision !== 'string') continue;
    const requestId = String(line.requestId);
    decisions.set(requestId, {
      ...{ requestId, loggedMs: atMs, decision: line.decision, draws: String(line.draws ?? 'all') },
      atMs: trueOf(Number(line.decidedAt), atMs - Number(line.durationMs ?? 1_000), offsetsMs),
      who: String(line.caller ?? line.client),
      bucket: typeof line.bucket === 'string' ? line.bucket : null,
    });
  }
  const isAdmitted = ({ decision }: Decision) => (decision === 'admitted' ? 0 : 1);
  return [...decisions.values()].sort(
    (one, other) => one.atMs - other.atMs || isAdmitted(one) - isAdmitted(other),
  );
}

/** Leaves out steps that are too small for the clock that a gateway counts by to follow them. */
function followed(offsetsMs: readonly number[]): readonly number[] {
  const [first = 0, ...later] = offsetsMs;
  const kept = [first];
  for (const ms of later) if (Math.abs(ms - (kept.at(-1) ?? 0)) > 1_000) kept.push(ms);
  return kept;
}

/** Takes the steps of a wall clock out of a moment, which was about then. */
function trueOf(epochMs: number, aboutMs: number, offsetsMs: readonly number[]): number {
  const possible = offsetsMs.map(offsetMs => epochMs - offsetMs);
  return possible.reduce((one, other) => (Math.abs(other - aboutMs) < Math.abs(one - aboutMs) ? other : one));
}
