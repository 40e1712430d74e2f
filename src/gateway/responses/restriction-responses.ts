import type { RestrictionReason } from '../../core/index.ts';
import { addressRestricted, type RateLimitError } from './rate-limit-error.ts';

/** Responses kept at a time; a flood may come from many addresses. */
const MAX_KEPT = 10_000;
const FRESH_MS = 1_000;

/** Makes the response to a restricted address once per second instead of once per request: these clients send too many. */
export class RestrictionResponses {
  readonly #kept = new Map<string, Kept>();

  forAddress(key: string, waitMs: number, reason: RestrictionReason, nowMs: number): RateLimitError {
    const kept = this.#kept.get(key);
    if (kept !== undefined && isFresh(kept, waitMs, reason, nowMs)) return kept.error;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    const error = addressRestricted(waitMs, reason);
    this.#kept.set(key, { madeAtMs: nowMs, waitMs, reason, error });
    return error;
  }
}

interface Kept {
  readonly madeAtMs: number;
  readonly waitMs: number;
  readonly reason: RestrictionReason;
  readonly error: RateLimitError;
}

/** False also once another restriction of the same address is told, or the same one was prolonged. */
function isFresh(kept: Kept, waitMs: number, reason: RestrictionReason, nowMs: number): boolean {
  const isYoung = nowMs >= kept.madeAtMs && nowMs - kept.madeAtMs < FRESH_MS;
  return isYoung && kept.reason === reason && waitMs <= kept.waitMs;
}
