import type { Clock } from '../../core/index.ts';

/** What is refused: everything of an address, everything of a principal, or one address on one webhook. */
export const RESTRICTED_KINDS = ['address', 'principal', 'webhook'] as const;
export type RestrictedKind = (typeof RESTRICTED_KINDS)[number];

/** The reasons: keys of the configuration, and `operator` for one that was added by hand. */
export const RESTRICTION_REASONS = [
  'invalid_requests',
  'webhook_not_found',
  'ignored_refusals',
  'operator',
] as const;
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

/** An address or a principal. */
export type Client = Pick<Restricted, 'key'> & { readonly kind: 'address' | 'principal' };

/** A restriction as announced to other gateways, with a digest in place of the client. */
export interface AnonymousRestriction {
  readonly kind: RestrictedKind;
  /** Of the kind, the key and the webhook. */
  readonly digest: string;
  readonly reason: RestrictionReason;
  readonly forMs: number;
  /** How often the client had been lifted when it began. */
  readonly lifts: number;
}

/** A restriction in force. */
export interface ListedRestriction {
  readonly kind: RestrictedKind;
  readonly digest: string;
  readonly reason: RestrictionReason;
  readonly untilEpochMs: number;
  /** Null: another gateway announced it, and the client has not been seen here. */
  readonly key: string | null;
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

/** A restriction that an operator lifted, as announced to other gateways. */
export interface Lift {
  /** Of the restriction. */
  readonly digest: string;
  /** How often this client was lifted, from 1. Restrictions that began at a lower number are over. */
  readonly count: number;
  readonly forMs: number;
}

export interface RestrictionsOptions {
  readonly clock: Clock;
  readonly listener: RestrictionListener;
  /** Called for each restriction that begins here, for other gateways to adopt. Default null: there are no others. */
  readonly announce?: ((restriction: AnonymousRestriction) => void) | null;
  /** Called for each restriction that is lifted here, for other gateways to lift it too. Default null. */
  readonly announceLift?: ((lift: Lift) => void) | null;
  /** Most restrictions held; one in force is never evicted. Default 100,000. */
  readonly maxRestrictions?: number;
}
