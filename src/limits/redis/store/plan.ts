import type {
  Decision,
  Limit,
  LimitRole,
  LimitSet,
  LimitsByRole,
  ShadowDecision,
  ShadowRole,
} from '../../index.ts';
import { isSharedRole, LIMIT_ROLES, NO_LIMITS, NO_SHADOW } from '../../index.ts';

/** The part of a call to the script that is the same for every request with these limits. */
export interface Plan {
  /** The limits in the order in which the script checks them: those in shadow are last. */
  readonly limits: readonly Limit[];
  /** The limits as JSON for the script. */
  readonly text: string;
  /** The roles of the enforced shared limits, in order. */
  readonly shared: readonly LimitRole[];
  /** The roles of the shadow limits, in order. */
  readonly shadow: readonly LimitRole[];
}

/**
 * The plans of a set: one for all limits, or one each for the caller's and every shared limit, which may be on different nodes of
 * a cluster.
 */
interface Plans {
  readonly whole: Plan;
  readonly ofCaller: Plan;
  /** The plans of the enforced limits, then those of the shadow limits. */
  readonly ofShared: readonly Plan[];
}

export class PlanTable {
  /** Weak, so that entries disappear with their configuration. */
  readonly #plans = new WeakMap<LimitSet, Plans>();

  of(set: LimitSet): Plans {
    let plans = this.#plans.get(set);
    if (plans === undefined) {
      plans = {
        whole: planOf(set),
        ofCaller: planOf({ ...set, ...NOT_SHARED, shadow: set.shadow && { ...set.shadow, ...NOT_SHARED } }),
        ofShared: [
          planOf({ ...NO_LIMITS, group: set.group }),
          planOf({ ...NO_LIMITS, resource: set.resource }),
          planOf({ ...NO_LIMITS, shadow: set.shadow && { ...NO_LIMITS, group: set.shadow.group } }),
          planOf({ ...NO_LIMITS, shadow: set.shadow && { ...NO_LIMITS, resource: set.shadow.resource } }),
        ].filter(({ limits }) => limits.length > 0),
      };
      this.#plans.set(set, plans);
    }
    return plans;
  }
}

const NOT_SHARED = { group: null, resource: null };

function planOf(set: LimitSet): Plan {
  const held = limitsIn(set);
  const inShadow = set.shadow === null ? [] : limitsIn(set.shadow);
  const limits = [...held, ...inShadow];
  return {
    limits,
    text: textOf(limits, held.length),
    shared: held.map(({ role }) => role).filter(isSharedRole),
    shadow: inShadow.map(({ role }) => role),
  };
}

function limitsIn(limits: LimitsByRole): Limit[] {
  return LIMIT_ROLES.map(role => limits[role]).filter(limit => limit !== null);
}

/** Writes limits as JSON for the scripts. Limits from `held` on are in shadow. */
export function textOf(limits: readonly Limit[], held = limits.length): string {
  return JSON.stringify(
    limits.map(({ role, algorithm, units, periodMs, slackMs, largestCost }, at) => ({
      role,
      smooth: algorithm === 'smooth',
      units,
      period: periodMs,
      slack: slackMs,
      cost: largestCost === 1 ? undefined : largestCost,
      shadow: at >= held ? true : undefined,
    })),
  );
}

/** A call to the store. */
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

/** A lease that a request needs. */
export interface LeaseAsked {
  readonly limit: Limit;
  readonly key: string;
  readonly id: string;
  /** Whether it is taken only if there is room, without refusing anyone. */
  readonly inShadow: boolean;
}

/** The script's reply to a plan. */
export interface ScriptResponse {
  readonly decision: Decision;
  /** The index of the refusing limit in the plan; -1 if admitted. */
  readonly refusedBy: number;
  /** Whether the decision used the counter that a caller's further main values share. */
  readonly byOtherParts: boolean;
  /** Whether that counter refused. */
  readonly refusedByOtherParts: boolean;
  /** Whether nothing was decided, because there is no counter and the caller may open none. */
  readonly isUndecided: boolean;
  /** Whether the caller holds the maximum of counters for main values. */
  readonly isFull: boolean;
  /** Whether the shared counter was opened. */
  readonly hasOpened: boolean;
  /** Whether the lease was taken. */
  readonly hasLease: boolean;
  /** The windows of the consumed units: of all limits, in order, or only of shared ones, as requested. */
  readonly windows: readonly number[];
  /** For each limit, what an undo restores, if the windows of all limits were requested; otherwise empty. */
  readonly toRestore: readonly number[];
  /**
   * For each limit, whether it used the counter that further main values share, if the windows of all limits were requested;
   * otherwise empty.
   */
  readonly drewOnOthers: readonly boolean[];
}

/**
 * Reads the script's reply. Returns `null` if it is malformed.
 *
 * @param isUndoable whether the windows of all limits were requested, with what an undo restores
 */
export function readScriptResponse(reply: unknown, plan: Plan, isUndoable: boolean): ScriptResponse | null {
  if (!Array.isArray(reply) || reply.length < 6) return null;
  const [code, nowMs, place, remaining, resetAtMs, waitMs] = reply as readonly number[];
  if (code === undefined || nowMs === undefined || place === undefined) return null;
  if (remaining === undefined || resetAtMs === undefined || waitMs === undefined) return null;
  if (!reply.every(number => Number.isSafeInteger(number))) return null;
  const admitted = code % 2 === 1;
  const refusedByOtherParts = (code & 512) !== 0;
  const atOnce = (code & 1_024) !== 0;
  const limit = place === 0 ? null : plan.limits[place - 1];
  if (limit === undefined) return null;
  const size = isUndoable ? plan.limits.length : reply.length;
  const end = 6 + size;
  const windows: readonly number[] = reply.slice(6, end);
  return {
    decision: {
      admitted,
      role: limit?.role ?? null,
      limit: limit?.units ?? 0,
      remaining,
      resetAtMs,
      resetAfterMs: limit === null ? 0 : resetAtMs - nowMs,
      atOnce,
      // The store holds the lease, and makes a place from it.
      place: null,
      retryAfterMs: waitMs,
      sharedKey: !admitted && !atOnce && isSharedRole(limit?.role ?? 'global') && !refusedByOtherParts,
      otherParts: refusedByOtherParts,
      ...windowsOf(plan.shared, admitted ? windows : []),
      shadow: admitted ? shadowOf(code, windows, plan) : NO_SHADOW,
      decidedAtMs: nowMs,
    },
    refusedBy: admitted || atOnce ? -1 : place - 1,
    byOtherParts: (code & 2) !== 0,
    refusedByOtherParts,
    isUndecided: (code & 64) !== 0,
    isFull: (code & 128) !== 0,
    hasOpened: (code & 256) !== 0,
    hasLease: (code & 2_048) !== 0,
    windows,
    toRestore: reply.slice(end, end + size),
    drewOnOthers: reply.slice(end + size).map(each => each === 1),
  };
}

/** Reads the bits from the third on: one for each shadow limit, which tells whether it would have refused. */
function shadowOf(code: number, windows: readonly number[], { shadow, shared }: Plan): ShadowDecision {
  const atOnce = (code & 4_096) !== 0;
  if (shadow.length === 0 && !atOnce) return NO_SHADOW;
  const quotas: readonly ShadowRole[] = shadow.filter((_, at) => ((code >> (at + 2)) & 1) === 1);
  const refused = atOnce ? [...quotas, 'concurrent' as const] : quotas;
  return { refused, ...windowsOf(shadow.filter(isSharedRole), windows.slice(shared.length)) };
}

/** @param roles the shared limits that the windows belong to, in order */
function windowsOf(
  roles: readonly LimitRole[],
  windows: readonly number[],
): Pick<Decision, 'groupWindow' | 'resourceWindow'> {
  return {
    groupWindow: windows[roles.indexOf('group')] ?? 0,
    resourceWindow: windows[roles.indexOf('resource')] ?? 0,
  };
}
