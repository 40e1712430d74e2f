/** What is refused: everything of an address, everything of a principal, or one address on one webhook. */
export const RESTRICTED_KINDS = ['address', 'principal', 'webhook'] as const;
export type RestrictedKind = (typeof RESTRICTED_KINDS)[number];

/** The reasons, by their keys in the configuration. */
export const RESTRICTION_REASONS = ['invalid_requests', 'webhook_not_found', 'ignored_refusals'] as const;
export type RestrictionReason = (typeof RESTRICTION_REASONS)[number];

/** Who or what is refused. */
export interface Restricted {
  readonly kind: RestrictedKind;
  /** The address, the principal, or the address of the webhook's caller. */
  readonly key: string;
  /** Hash of the webhook; empty for the other kinds. */
  readonly webhook: string;
  readonly reason: RestrictionReason;
}

/** A restriction as announced to other gateways, with a digest in place of the client. */
export interface AnonymousRestriction {
  readonly kind: RestrictedKind;
  /** Of the kind, the key and the webhook. */
  readonly digest: string;
  readonly reason: RestrictionReason;
  readonly forMs: number;
}

/** A temporary refusal. */
export interface Restriction extends Restricted {
  /** When it ends, in milliseconds since the epoch, as announced at its beginning. */
  readonly untilEpochMs: number;
}

/** Hears of restrictions, for logs and for streams that have to be closed. Must not throw. */
export interface RestrictionListener {
  restricted(restriction: Restriction): void;
  released(restriction: Restriction): void;
  /** The table is full, so the offender is not restricted. Alert on this. */
  noRoom(restriction: Restriction): void;
}
