import type { RestrictedCounts } from './restriction-replay.ts';

/** What restrictions refused, and what cannot be known of it. */
export interface RestrictionReport {
  readonly before: RestrictedCounts;
  readonly after: RestrictedCounts;
  /** Restrictions that would begin if their rules were not in shadow. */
  readonly inShadow: number;
  readonly unknown: {
    /** Requests that a restriction or a block refused before their token was looked at, and that are not refused any more. */
    readonly callers: number;
    /** Requests that were refused and are not any more: nobody knows how their service would have answered. */
    readonly outcomes: number;
    /** Requests that counted at a moment that the log, of an earlier version, does not tell. */
    readonly moments: number;
  };
  /** `never_restrict` lists callers, whom the log does not name: those count who were spared when it was written. */
  readonly sparesCallers: boolean;
}
