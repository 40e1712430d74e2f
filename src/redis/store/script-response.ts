import { type Decision, NO_SHADOW, type ShadowDecision } from '../../limits/index.ts';
import type { Plan } from './plan.ts';

/** The script's reply to a plan. */
export interface Response {
  readonly decision: Decision;
  /** The place of the refusing limit in the plan; -1 if admitted. */
  readonly refusedBy: number;
  /** A counter shared by main values beyond those that the caller may hold had a part in it. */
  readonly byOtherParts: boolean;
  /** Such a counter refused. */
  readonly refusedByOtherParts: boolean;
  /** Nothing was decided: there is no counter, and the caller may open none. */
  readonly isUndecided: boolean;
  /** The caller holds all the counters for main values that it may. */
  readonly isFull: boolean;
  /** The counter of the resource was opened. */
  readonly hasOpened: boolean;
  /** Windows that units were drawn on: those of all limits, in order, or only the resource's, as asked. */
  readonly windows: readonly number[];
}

/** Reads the script's reply; null if it is not one. */
export function readResponse(reply: unknown, plan: Plan): Response | null {
  if (!Array.isArray(reply) || reply.length < 6) return null;
  const [code, nowMs, place, remaining, resetAtMs, waitMs] = reply as readonly number[];
  if (code === undefined || nowMs === undefined || place === undefined) return null;
  if (remaining === undefined || resetAtMs === undefined || waitMs === undefined) return null;
  if (!reply.every(number => Number.isSafeInteger(number))) return null;
  const admitted = code % 2 === 1;
  const refusedByOtherParts = (code & 256) !== 0;
  const limit = place === 0 ? null : plan.limits[place - 1];
  if (limit === undefined) return null;
  const windows: readonly number[] = reply.slice(6);
  return {
    decision: {
      admitted,
      role: limit?.role ?? null,
      limit: limit?.units ?? 0,
      remaining,
      resetAtMs,
      resetAfterMs: limit === null ? 0 : resetAtMs - nowMs,
      retryAfterMs: waitMs,
      sharedKey: !admitted && limit?.role === 'resource' && !refusedByOtherParts,
      otherParts: refusedByOtherParts,
      resourceWindow: admitted && plan.hasResource ? (windows[0] ?? 0) : 0,
      shadow: admitted ? shadowOf(code, windows, plan) : NO_SHADOW,
      decidedAtMs: nowMs,
    },
    refusedBy: admitted ? -1 : place - 1,
    byOtherParts: (code & 2) !== 0,
    refusedByOtherParts,
    isUndecided: (code & 32) !== 0,
    isFull: (code & 64) !== 0,
    hasOpened: (code & 128) !== 0,
    windows,
  };
}

/** From the third bit on, the code has one for each limit in shadow: whether it would have refused. */
function shadowOf(code: number, windows: readonly number[], { shadow }: Plan): ShadowDecision {
  if (shadow.length === 0) return NO_SHADOW;
  const refused = shadow.filter((_, at) => ((code >> (at + 2)) & 1) === 1);
  return { refused, resourceWindow: shadow.at(-1) === 'resource' ? (windows.at(-1) ?? 0) : 0 };
}
