import { addressRestricted, type RateLimitError } from './rate-limit-error.ts';

/** Responses kept at a time; a flood may come from many addresses. */
const MAX_KEPT = 10_000;
const FRESH_MS = 1_000;

/** Makes the response to a restricted address once per second instead of once per request: these clients send too many. */
export class RestrictionResponses {
  readonly #kept = new Map<string, { readonly madeAtMs: number; readonly error: RateLimitError }>();

  forAddress(key: string, waitMs: number, nowMs: number): RateLimitError {
    const kept = this.#kept.get(key);
    if (kept !== undefined && nowMs - kept.madeAtMs < FRESH_MS && nowMs >= kept.madeAtMs) return kept.error;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    const error = addressRestricted(waitMs);
    this.#kept.set(key, { madeAtMs: nowMs, error });
    return error;
  }
}
