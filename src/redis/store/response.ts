import type { Decision } from '../../limits/index.ts';
import type { Plan } from './plan.ts';

/** What the script says of a plan. */
export interface Response {
  readonly decision: Decision;
  /** On a refusal the place of the limit in the plan, else -1. */
  readonly refusedBy: number;
  /** The counter that all main values past those a caller may hold share had a part in it. */
  readonly byOtherParts: boolean;
  /** Windows that units were drawn from, in the order of the limits; of all or of the resource alone, as asked. */
  readonly windows: readonly number[];
}

/** Reads the script's reply. Null: it is none, so that whatever answered is not what it should be. */
export function readResponse(reply: unknown, plan: Plan): Response | null {
  if (!Array.isArray(reply) || reply.length < 6) return null;
  const [code, nowMs, place, remaining, resetAtMs, waitMs] = reply as readonly number[];
  if (code === undefined || nowMs === undefined || place === undefined) return null;
  if (remaining === undefined || resetAtMs === undefined || waitMs === undefined) return null;
  if (!reply.every(number => Number.isSafeInteger(number))) return null;
  const admitted = code % 2 === 1;
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
      otherParts: !admitted && limit?.role === 'caller' && code >= 2,
      resourceWindow: admitted && plan.endsInResource ? (windows.at(-1) ?? 0) : 0,
    },
    refusedBy: admitted ? -1 : place - 1,
    byOtherParts: code >= 2,
    windows,
  };
}
