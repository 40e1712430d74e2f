import type { ClassName } from '../../config/index.ts';
import { ownString } from '../../core/index.ts';
import type { LimitRole } from '../../limits/index.ts';
import type { LoggedRequest } from './log/index.ts';

const MINUTE_MS = 60_000;
/** Maximum callers counted by name, over all rows. Requests of further callers count in their row only. */
const MAX_CALLERS = 1_000_000;
/** Maximum points of the picture. If the log needs more, each point covers twice the time. */
const MAX_POINTS = 240;

/** Requests of one caller, and how many were refused before (in the log) and after (in the replay). */
export interface CallerCount {
  requests: number;
  before: number;
  after: number;
}

export interface RefusedCounts {
  /** Refused when the log was written. */
  before: number;
  /** Refused by the tested limits. */
  after: number;
  afterByGlobal: number;
  /** How many of `after` were refused by a block. */
  afterByBlocked: number;
  /** How many of `before` and of `after` were refused by a restriction. */
  beforeByRestriction: number;
  afterByRestriction: number;
}

/** Requests of one caller class that consume one bucket. */
export interface TallyRow {
  /** The bucket; `null` for the global limit only. */
  readonly bucket: string | null;
  readonly callerClass: ClassName;
  requests: number;
  readonly refused: RefusedCounts;
  readonly callers: Map<string, CallerCount>;
  /** The minute with the most refusals by the tested limits, and the current minute. */
  worst: { startMs: number; refused: number };
  minute: { startMs: number; refused: number };
}

/** Requests in one interval of the picture. */
export type Point = CallerCount;

export interface ReplayOutcome {
  readonly bucket: string | null;
  readonly refusedBy: 'nothing' | 'blocked' | 'restriction' | 'concurrent' | LimitRole;
}

const NONE_REFUSED: RefusedCounts = {
  before: 0,
  after: 0,
  afterByGlobal: 0,
  afterByBlocked: 0,
  beforeByRestriction: 0,
  afterByRestriction: 0,
};

/** Counts decisions. Memory grows with buckets and callers, up to a bound, but not with requests. */
export class ReplayTally {
  readonly #rows = new Map<string, Map<ClassName, TallyRow>>();
  /** The latest row: the next request often needs it again. */
  #row: TallyRow | null = null;
  points: Point[] = [];
  /** Milliseconds that a point covers. */
  pointMs = 1_000;
  startMs = 0;
  endMs = 0;
  callers = 0;
  /** Requests counted without their caller, because the table of callers was full. */
  unnamed = 0;

  get rows(): TallyRow[] {
    return [...this.#rows.values()].flatMap(classes => [...classes.values()]);
  }

  note(
    atMs: number,
    { callerClass, caller, outcome }: LoggedRequest,
    { bucket, refusedBy }: ReplayOutcome,
  ): void {
    const last = this.#row;
    const isSame = last?.bucket === bucket && last.callerClass === callerClass;
    const row = isSame ? last : this.#rowOf(bucket, callerClass);
    this.#row = row;
    const before = outcome === 'admitted' ? 0 : 1;
    const after = refusedBy === 'nothing' ? 0 : 1;
    row.requests++;
    row.refused.before += before;
    row.refused.after += after;
    if (refusedBy === 'global') row.refused.afterByGlobal++;
    if (refusedBy === 'blocked') row.refused.afterByBlocked++;
    if (refusedBy === 'restriction') row.refused.afterByRestriction++;
    if (outcome === 'restricted') row.refused.beforeByRestriction++;
    noteMinute(row, atMs, after);
    add(this.#callerOf(row, caller), before, after);
    add(this.#pointOf(atMs), before, after);
  }

  #rowOf(bucket: string | null, callerClass: ClassName): TallyRow {
    const name = bucket ?? '';
    let classes = this.#rows.get(name);
    if (classes === undefined) {
      classes = new Map();
      this.#rows.set(name, classes);
    }
    let row = classes.get(callerClass);
    if (row === undefined) {
      row = {
        bucket,
        callerClass,
        requests: 0,
        refused: { ...NONE_REFUSED },
        callers: new Map(),
        worst: { startMs: 0, refused: 0 },
        minute: { startMs: 0, refused: 0 },
      };
      classes.set(callerClass, row);
    }
    return row;
  }

  #callerOf(row: TallyRow, caller: string): CallerCount | null {
    const known = row.callers.get(caller);
    if (known !== undefined) return known;
    if (this.callers >= MAX_CALLERS) {
      this.unnamed++;
      return null;
    }
    this.callers++;
    const count = { requests: 0, before: 0, after: 0 };
    row.callers.set(ownString(caller), count);
    return count;
  }

  #pointOf(atMs: number): Point {
    if (this.startMs === 0) this.startMs = atMs;
    this.endMs = Math.max(this.endMs, atMs);
    let at = this.#placeOf(atMs);
    while (at >= MAX_POINTS) {
      this.points = halved(this.points);
      this.pointMs *= 2;
      at = this.#placeOf(atMs);
    }
    while (this.points.length <= at) this.points.push(noPoint());
    return this.points[at] ?? noPoint();
  }

  #placeOf(atMs: number): number {
    return Math.max(0, Math.floor((atMs - this.startMs) / this.pointMs));
  }
}

function add(count: Point | null, before: number, after: number): void {
  if (count === null) return;
  count.requests++;
  count.before += before;
  count.after += after;
}

function noteMinute(row: TallyRow, atMs: number, after: number): void {
  const startMs = atMs - (atMs % MINUTE_MS);
  if (startMs !== row.minute.startMs) row.minute = { startMs, refused: 0 };
  row.minute.refused += after;
  if (row.minute.refused > row.worst.refused) row.worst = { ...row.minute };
}

function noPoint(): Point {
  return { requests: 0, before: 0, after: 0 };
}

function halved(points: readonly Point[]): Point[] {
  const half = Array.from({ length: Math.ceil(points.length / 2) }, noPoint);
  points.forEach((point, i) => {
    const into = half[i >> 1];
    if (into === undefined) return;
    into.requests += point.requests;
    into.before += point.before;
    into.after += point.after;
  });
  return half;
}
