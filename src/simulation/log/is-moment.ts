/** A decision comes before its line, by no more than this; the clocks of a shared store may differ a little. */
const MAX_BEHIND_MS = 86_400_000;
const MAX_AHEAD_MS = 60_000;

/** Whether something that a line tells of may have happened then. */
export function isMoment(value: unknown, writtenAtMs: number): value is number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return false;
  return value <= writtenAtMs + MAX_AHEAD_MS && value >= writtenAtMs - MAX_BEHIND_MS;
}
