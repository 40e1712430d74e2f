/** What was decided about a request. */
export interface DecisionEvent {
  /** The bucket as configured; null: the request has none. */
  readonly bucket: string | null;
  readonly callerClass: 'bot' | 'user' | 'address';
  /** `admitted`, or the limit that refused. */
  readonly outcome: 'admitted' | 'global' | 'caller' | 'resource';
  /** At least 80 % of the limit described is used up. */
  readonly nearLimit: boolean;
}

/** Why something is restricted, by its key in limits.yaml. */
export type RestrictionReason = 'invalid_requests' | 'webhook_not_found' | 'ignored_refusals';

/** A temporary refusal. Metrics use its kind and reason only. */
export interface RestrictionEvent {
  readonly kind: 'address' | 'principal' | 'webhook';
  readonly reason: RestrictionReason;
  /** The address or principal: for the log. */
  readonly key: string;
  readonly untilEpochMs: number;
}

/** Hears what limits and restrictions do. Must be quick and must not throw. */
export interface LimitListener {
  decided(event: DecisionEvent): void;
  /** A request ended invalid: 401, 403 or 429. */
  invalid(status: number): void;
  restricted(event: RestrictionEvent): void;
  released(event: RestrictionEvent): void;
  /** A restriction was not imposed because the table is full. */
  noRoom(event: RestrictionEvent): void;
}
