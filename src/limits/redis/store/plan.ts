import type {
  Decision,
  Limit,
  LimitRole,
  LimitSet,
  LimitsByRole,
  ShadowDecision,
  ShadowRole,
  WindowState,
} from '../../index.ts';
import { isSharedRole, limitsIn, NO_LIMITS, NO_SHADOW, NO_WINDOWS, windowsOf } from '../../index.ts';
import { RedisError, readNumbers, unexpectedReply } from '../connection/index.ts';
import { NONE, REPLY, STEP, type StepKind } from './script-words.ts';

/** One step of a decision: what is the same in the call to the script for every request with these limits. */
export interface Step {
  readonly kind: StepKind;
  /** The limits in the order in which the script checks them: those in shadow are last. */
  readonly limits: readonly Limit[];
  /** The limits as JSON for the script, as of a moment since the epoch: it names the next ends of windows of the calendar. */
  readonly text: (epochMs: number) => string;
  /** The enforced limits whose units can be returned, in order, and those in shadow. */
  readonly returned: readonly Limit[];
  readonly returnedInShadow: readonly Limit[];
  /** The roles of the shadow limits, in order. */
  readonly shadow: readonly LimitRole[];
  /** The windows that an admission tells one by one (`Decision.windows`), in the order of `limits`. */
  readonly told: readonly Limit[];
}

/** The steps for a set: one for all limits, or one for the caller's and one for every shared limit, enforced ones first. */
interface Plan {
  readonly whole: Step;
  readonly own: Step;
  readonly shared: readonly Step[];
}

export function planOf(set: LimitSet): Plan {
  const { shadow } = set;
  // In a cluster each window of a shared limit may be on another node, so each has a step.
  const onlyShared = (limits: LimitsByRole) =>
    limitsIn({ ...limits, global: null, caller: null }).map(limit => ({
      ...NO_LIMITS,
      [limit.role]: withoutFurtherWindows(limit),
    }));
  const inShadow = shadow === null ? [] : onlyShared(shadow).map(each => ({ ...NO_LIMITS, shadow: each }));
  const told = new Set(toldOf(set).map(({ identity }) => identity));
  return {
    whole: stepOf(STEP.whole, set, told),
    own: stepOf(STEP.own, { ...set, ...NOT_SHARED, shadow: shadow && { ...shadow, ...NOT_SHARED } }, told),
    shared: [...onlyShared(set), ...inShadow].map(each => stepOf(STEP.shared, each, told)),
  };
}

/** A limit without its further windows. */
function withoutFurtherWindows(limit: Limit): Limit {
  return limit.more.length === 0 ? limit : { ...limit, more: [] };
}

const NOT_SHARED = { group: null, resource: null };

/** @param told the identities of the windows to tell one by one */
function stepOf(kind: StepKind, set: LimitSet, told: ReadonlySet<string>): Step {
  const held = limitsIn(set);
  const inShadow = set.shadow === null ? [] : limitsIn(set.shadow);
  const limits = [...held, ...inShadow];
  return {
    kind,
    limits,
    text: textAt(limits, held.length, told),
    told: held.filter(({ identity }) => told.has(identity)),
    returned: held.filter(returnsUnits),
    returnedInShadow: inShadow.filter(returnsUnits),
    shadow: inShadow.map(({ role }) => role),
  };
}

/** The windows of which one is described on admission, if any of them is priced. */
function toldOf({ caller, resource }: LimitsByRole): readonly Limit[] {
  const windows = windowsOf(caller ?? resource);
  return windows.some(({ isPriced }) => isPriced) ? windows : [];
}

function returnsUnits({ returnsUnits }: Limit): boolean {
  return returnsUnits;
}

/** Writes the text once, or once in each period of the calendar. */
function textAt(limits: readonly Limit[], held: number, told: ReadonlySet<string>): Step['text'] {
  const calendars = limits.map(({ calendar }) => calendar).filter(calendar => calendar !== null);
  let text = '';
  let [fromMs, untilMs] = [0, 0];
  return epochMs => {
    const isKnown = text !== '' && (calendars.length === 0 || (epochMs >= fromMs && epochMs < untilMs));
    if (isKnown) return text;
    const around = calendars.map(calendar => calendar.endsAround(epochMs));
    fromMs = Math.max(...around.map(([, startMs = 0]) => startMs));
    untilMs = Math.min(...around.map(([, , endMs = 0]) => endMs));
    text = textOf(limits, epochMs, held, told);
    return text;
  };
}

const NONE_TOLD: ReadonlySet<string> = new Set();

/**
 * Writes limits as JSON for the scripts, as of a moment since the epoch. Limits from `held` on are in shadow. The ends of a
 * calendar are the same in every gateway, and enough for any clock that is less than one of its periods away.
 */
export function textOf(
  limits: readonly Limit[],
  epochMs: number,
  held = limits.length,
  told: ReadonlySet<string> = NONE_TOLD,
): string {
  return JSON.stringify(
    limits.map((limit, at) => ({
      role: limit.role,
      smooth: limit.algorithm === 'smooth',
      units: limit.units,
      period: limit.periodMs,
      ends: limit.calendar?.endsAround(epochMs),
      slack: limit.slackMs,
      back: limit.returnsUnits && !isSharedRole(limit.role) ? true : undefined,
      each: limit.takesCost ? undefined : true,
      cost: limit.largestCost === 1 ? undefined : limit.largestCost,
      priced: limit.isPriced ? true : undefined,
      told: at < held && told.has(limit.identity) ? true : undefined,
      shadow: at >= held ? true : undefined,
    })),
  );
}

export interface Question {
  readonly limits: LimitSet;
  readonly caller: string;
  /** The beginning of the caller's keys. */
  readonly callerKeys: string;
  readonly main: string;
  readonly group: string;
  readonly cost: number;
  /** Whether to consume units; false to only look. */
  readonly consuming: boolean;
  /** The lease for its place among the caller's requests in flight; `null` if these are not limited. */
  readonly lease: LeaseAsked | null;
}

export interface LeaseAsked {
  readonly limit: Limit;
  readonly key: string;
  readonly id: string;
  /** Whether it is taken only if there is room, without refusing anyone. */
  readonly inShadow: boolean;
}

/** The script's reply to one step. */
export interface ScriptResponse {
  readonly decision: Decision;
  /** The index of the refusing limit in the step; `null` if none of them refused. */
  readonly refusedBy: number | null;
  /** The bits of REPLY; see `has`. */
  readonly code: number;
  /**
   * The windows of the consumed units, or NONE.window: of all limits, in order, or in a whole decision only of those that can be
   * returned.
   */
  readonly windows: readonly number[];
  /** For each of these, whether they came from the counter that further main values share. */
  readonly usedOthers: readonly boolean[];
  /** For each limit, what an undo restores; empty in a whole decision. */
  readonly toRestore: readonly number[];
}

/** Reads the script's reply to a step. Returns an error if it is malformed, or has another format. */
export function readScriptResponse(reply: unknown, step: Step): ScriptResponse | RedisError {
  const numbers = readNumbers(reply, 'limit', 6);
  if (numbers instanceof RedisError) return numbers;
  const [code, nowMs, place, remaining, resetAtMs, waitMs] = numbers as SixNumbers;
  const limit = place === NONE.limit ? null : step.limits[place - 1];
  if (limit === undefined) return unexpectedReply('limit');
  const admitted = (code & REPLY.admitted) !== 0;
  const atOnce = (code & REPLY.refusedAtOnce) !== 0;
  const otherParts = (code & REPLY.refusedByOthers) !== 0;
  const end = admitted ? numbers.length - 2 * step.told.length : numbers.length;
  const size = (end - 6) / (step.kind === STEP.whole ? 2 : 3);
  const windows = numbers.slice(6, 6 + size);
  const usedOthers = numbers.slice(6 + size, 6 + 2 * size).map(each => each === 1);
  const drawn = { windows, usedOthers };
  return {
    decision: {
      admitted,
      role: limit?.role ?? null,
      by: limit,
      limit: limit?.units ?? 0,
      remaining,
      resetAtMs,
      resetAfterMs: limit === null ? 0 : resetAtMs - nowMs,
      atOnce,
      // The store holds the lease, and makes a place from it.
      place: null,
      retryAfterMs: waitMs,
      sharedKey: !admitted && !atOnce && isSharedRole(limit?.role ?? 'global') && !otherParts,
      otherParts,
      drawn: admitted ? drawnIn(step, drawn) : NO_SHADOW.drawn,
      windows: admitted ? toldIn(step, numbers.slice(end), nowMs) : NO_WINDOWS,
      shadow: admitted ? shadowOf(code, drawn, step) : NO_SHADOW,
      decidedAtMs: nowMs,
    },
    refusedBy: admitted || atOnce || limit === null ? null : place - 1,
    code,
    windows,
    usedOthers,
    toRestore: numbers.slice(6 + 2 * size, end),
  };
}

export function has({ code }: Pick<ScriptResponse, 'code'>, bit: number): boolean {
  return (code & bit) !== 0;
}

type SixNumbers = readonly [number, number, number, number, number, number];

/** Where units came from. */
type DrawnIn = Pick<ScriptResponse, 'windows' | 'usedOthers'>;

function shadowOf(code: number, drawn: DrawnIn, step: Step): ShadowDecision {
  const { shadow } = step;
  const atOnce = has({ code }, REPLY.fullInShadow);
  if (shadow.length === 0 && !atOnce) return NO_SHADOW;
  const quotas: ShadowRole[] = shadow.filter((_, at) => has({ code }, REPLY.refusedInShadow << at));
  const refused = [...new Set(atOnce ? [...quotas, 'concurrent' as const] : quotas)];
  return { refused, drawn: drawnIn(step, drawn, true) };
}

function toldIn({ told }: Step, numbers: readonly number[], nowMs: number): readonly WindowState[] {
  if (told.length === 0) return NO_WINDOWS;
  const states = told.map((limit, at) => {
    const [remaining = 0, resetAtMs = 0] = numbers.slice(2 * at);
    return { limit, remaining, resetAtMs, resetInMs: resetAtMs - nowMs };
  });
  return byPeriod(states);
}

export function byPeriod(states: readonly WindowState[]): readonly WindowState[] {
  return states.toSorted((one, other) => one.limit.periodMs - other.limit.periodMs);
}

/**
 * The units that were consumed and can be returned. A step that may be undone names the windows of all its limits. A counter shared by
 * several values does not show whose unit it was: unless its limit is priced, such a unit cannot be returned.
 */
function drawnIn(
  { kind, limits, returned, returnedInShadow }: Step,
  { windows, usedOthers }: DrawnIn,
  inShadow = false,
): Decision['drawn'] {
  const named = kind === STEP.whole ? [...returned, ...returnedInShadow] : limits;
  const asked = inShadow ? returnedInShadow : returned;
  if (asked.length === 0) return NO_SHADOW.drawn;
  return named.flatMap((limit, at) => {
    const window = windows[at] ?? NONE.window;
    if (window === NONE.window || !asked.includes(limit)) return [];
    if (usedOthers[at] !== true) return [{ limit, window }];
    return limit.isPriced ? [{ limit, window, standIn: null }] : [];
  });
}
