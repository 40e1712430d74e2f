import { type Decision, NO_SHADOW, type ShadowDecision } from '../../limits/index.ts';
import type { Plan } from './plan.ts';

/** The script's reply to a plan. */
export interface Response {
  readonly decision: Decision;
  /** The place of the refusing limit in the plan; -1 if admitted. */
  readonly refusedBy: number;
  /** The counter shared by main values beyond those that the caller may hold had a part in it. */
  readonly byOtherParts: boolean;
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
  const byOtherParts = (code & 2) === 2;
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
      sharedKey: !admitted && limit?.role === 'resource',
      otherParts: !admitted && limit?.role === 'caller' && byOtherParts,
      resourceWindow: admitted && plan.hasResource ? (windows[0] ?? 0) : 0,
      shadow: admitted ? shadowOf(code, windows, plan) : NO_SHADOW,
      decidedAtMs: nowMs,
    },
    refusedBy: admitted ? -1 : place - 1,
    byOtherParts,
    windows,
  };
}

/** From the third bit on, the code has one for each limit in shadow: whether it would have refused. */
function shadowOf(code: number, windows: readonly number[], { shadow }: Plan): ShadowDecision {
  if (shadow.length === 0) return NO_SHADOW;
  const refused = shadow.filter((_, at) => ((code >> (at + 2)) & 1) === 1);
  return { refused, resourceWindow: shadow.at(-1) === 'resource' ? (windows.at(-1) ?? 0) : 0 };
}
