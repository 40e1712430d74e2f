import {
  type Clock,
  digestOf,
  ownString,
  type RestrictedKind,
  type RestrictionReason,
  type RestrictionTableName,
} from '../../core/index.ts';
import type { Member } from './eviction-order.ts';

/** The table that holds a restriction. */
export function tableOf({ kind, reason }: Pick<Restricted, 'kind' | 'reason'>): RestrictionTableName {
  return reason === 'operator' ? 'operator' : kind;
}

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
export type RestrictedClient = Pick<Restricted, 'key'> & { readonly kind: 'address' | 'principal' };

/** A restriction as announced to other gateways, with a digest in place of the client. */
export interface AnonymousRestriction {
  readonly kind: RestrictedKind;
  /** Of the kind, the key and the webhook. */
  readonly digest: string;
  readonly reason: RestrictionReason;
  readonly forMs: number;
  /** How often the client had been lifted when it began. */
  readonly lifts: number;
  /** Null: a gateway of an older version does not tell. */
  readonly sinceEpochMs: number | null;
  /** Of the client's network; '': it has none, or it was not told. */
  readonly network: string;
  /** Of the address that calls a webhook: the one that a restriction of all of the address has. '' for other kinds. */
  readonly owner: string;
}

/** A restriction in force. */
export interface ListedRestriction {
  readonly kind: RestrictedKind;
  /** Of the client: an automatic restriction and an operator's share it. */
  readonly digest: string;
  readonly reason: RestrictionReason;
  readonly sinceEpochMs: number;
  readonly untilEpochMs: number;
  /** Null: another gateway announced it, and the client has not been seen here. */
  readonly key: string | null;
}

/** A temporary refusal. */
export interface Restriction extends Restricted {
  /** When it ends, in milliseconds since the epoch, as announced at its beginning. */
  readonly untilEpochMs: number;
}

/** A restriction that ended early because its table was full. `key` is null if the client has not been seen here. */
export interface EvictedRestriction extends Omit<Restriction, 'key'> {
  readonly key: string | null;
  readonly table: RestrictionTableName;
}

/** Hears of restrictions, for logs and for streams that have to be closed. Must not throw. */
export interface RestrictionListener {
  restricted(restriction: Restriction): void;
  /** One in force ends later than announced, maybe for another reason. */
  prolonged(restriction: Restriction): void;
  released(restriction: Restriction): void;
  /** One was given up early: its table was full, and another one began. Alert on this. */
  evicted(restriction: EvictedRestriction): void;
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
  /** Called for each restriction that is given up here while it lasts, so that what others are told stays bounded. Default null. */
  readonly withdraw?: ((restriction: AnonymousRestriction) => void) | null;
  /** Most restrictions held in each table. Default 10,000 by operators, 50,000 of principals, 100,000 of addresses, 50,000 on webhooks. */
  readonly places?: Readonly<Record<RestrictionTableName, number>>;
  /** The network of an address, by the key of the address. Default: all addresses are of one. */
  readonly networkOf?: (address: string) => string;
}

/** A restriction in its table. */
export interface Entry extends ListedRestriction, Member {
  readonly kind: RestrictedKind;
  /** '' where the client has not been seen here, as for the kinds without one. */
  readonly webhook: string;
  /** On the monotonic clock. */
  readonly untilMs: number;
  readonly slackMs: number;
  /** How often the client had been lifted when it began. */
  readonly lifts: number;
  /** As in `AnonymousRestriction`. */
  readonly owner: string;
}

/** A restriction of a client that this gateway knows by name. */
export interface Held extends Entry {
  readonly key: string;
}

export function isHeld(entry: Entry): entry is Held {
  return entry.key !== null;
}

/** A restriction ends a little before the moment announced, like a window. */
const SLACK_MS = 20;
const MAX_SLACK = 0.02;

export function slackOf(forMs: number): number {
  return Math.min(SLACK_MS, forMs * MAX_SLACK);
}

export function isOver({ untilMs, slackMs }: Pick<Entry, 'untilMs' | 'slackMs'>, nowMs: number): boolean {
  return nowMs >= untilMs - slackMs;
}

/** Identifies a client to all gateways and in the admin API, without naming it. */
export function digestOfWhom({ kind, key, webhook }: Omit<Restricted, 'reason'>): string {
  return digestOf(`${kind} ${key} ${webhook}`);
}

/** Enough digits to tell networks apart: two that share them would only be taken for one. */
const NETWORK_DIGITS = 11;

export function digestOfNetwork(network: string): string {
  return network === '' ? '' : digestOf(`network ${network}`).slice(0, NETWORK_DIGITS);
}

/** As it would be announced now. */
export function announced(
  { kind, digest, reason, untilMs, lifts, sinceEpochMs, network, owner }: Entry,
  nowMs: number,
): AnonymousRestriction {
  return { kind, digest, reason, forMs: untilMs - nowMs, lifts, sinceEpochMs, network, owner };
}

/**
 * A client that is asked about again and again, as of a connection or a stream. Keeps the digest by which other gateways name it: a
 * hash costs a microsecond, and all streams are asked about twice a second.
 */
export class KnownClient implements RestrictedClient {
  readonly kind: RestrictedClient['kind'];
  readonly key: string;
  /** Made when it is first needed; '' until then. */
  #digest = '';

  constructor(kind: RestrictedClient['kind'], key: string) {
    this.kind = kind;
    this.key = key;
  }

  get digest(): string {
    if (this.#digest === '')
      this.#digest = ownString(digestOfWhom({ kind: this.kind, key: this.key, webhook: '' }));
    return this.#digest;
  }
}
