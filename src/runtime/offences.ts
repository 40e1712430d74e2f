import { type Decision, type IgnoredRefusals, OTHER_PARTS } from '../limits/index.ts';
import type { Claim } from './limit-claim.ts';

/** Whose limit caused a 429. `restriction`: the sender is restricted. */
export type LimitedBy = 'user' | 'shared' | 'global' | 'restriction';

/** Final status 401, 403 or 429, unless a restriction answered or others share the blame (docs/contract.md, 5.1). */
export function isInvalid(status: number, limitedBy: LimitedBy | null, isPreflight: boolean): boolean {
  if (isPreflight) return false;
  if (status === 401 || status === 403) return true;
  return status === 429 && limitedBy !== 'shared' && limitedBy !== 'restriction';
}

/** Whose request limits refused. */
export interface RefusedSender {
  /** Key of the address. */
  readonly address: string;
  /** Null: the caller counts as its address. */
  readonly principal: string | null;
  readonly isPreflight: boolean;
}

/** Notes refusals that the caller may ignore: not those that others caused, nor those of a browser's preflight. */
export function noteRefusal(
  ignoredRefusals: IgnoredRefusals,
  { set, main }: Claim,
  { role, sharedKey, otherParts, retryAfterMs }: Decision,
  { address, principal, isPreflight }: RefusedSender,
): void {
  // The limit of a resource is noted where the caller's own counter for further values refused.
  const refused = role === null ? null : set[role];
  if (sharedKey || refused === null || isPreflight) return;
  const part = otherParts ? OTHER_PARTS : main;
  ignoredRefusals.note({ address, principal, limit: refused, main: part, waitMs: retryAfterMs });
}
