import type * as core from '../../core/index.ts';
import { digestOf, ownString } from '../../core/index.ts';
import type { Member } from './eviction-order.ts';

/** The table that holds a restriction. */
export function tableOf({ kind, reason }: Pick<Restricted, 'kind' | 'reason'>): core.RestrictionTableName {
  return reason === 'operator' ? 'operator' : kind;
}

/** Who or what is refused. */
export interface Restricted {
  readonly kind: core.RestrictedKind;
  /** The address, the principal, or the address of the webhook's caller. */
  readonly key: string;
  /** Hash of the webhook; empty for the other kinds. */
  readonly webhook: string;
  readonly reason: core.RestrictionReason;
}

/** An address or a principal. */
export type RestrictedClient = Pick<Restricted, 'key'> & { readonly kind: 'address' | 'principal' };

/** A restriction as announced to other gateways, with a digest instead of the client. */
export interface AnonymousRestriction {
  readonly kind: core.RestrictedKind;
  /** The digest of the kind, the key and the webhook. */
  readonly digest: string;
  readonly reason: core.RestrictionReason;
  readonly forMs: number;
  /** How often restrictions of this client had been lifted when this one began. */
  readonly lifts: number;
  /** When it began; `null` if announced by a gateway of an older version. */
  readonly sinceEpochMs: number | null;
  /** The digest of the client's network; '' if it has none, or none was announced. */
  readonly network: string;
  /** The digest of the address that calls a webhook, as in a restriction of that address; '' for other kinds. */
  readonly owner: string;
  /** The client by name, only for threads of this process. */
  readonly whom?: core.FactSubject | undefined;
}

/** A restriction in force. */
export interface ListedRestriction {
  readonly kind: core.RestrictedKind;
  /** The digest of the client, shared by an automatic restriction and an operator's. */
  readonly digest: string;
  readonly reason: core.RestrictionReason;
  readonly sinceEpochMs: number;
  readonly untilEpochMs: number;
  /** The client; `null` if another gateway announced the restriction and the client was not seen here. */
  readonly key: string | null;
}

/** A temporary refusal. */
export interface Restriction extends Restricted {
  /** When it ends, in milliseconds since the epoch, as first announced. */
  readonly untilEpochMs: number;
}

/** A restriction that ended early because its table was full. `key` is null if the client has not been seen here. */
export interface EvictedRestriction extends Omit<Restriction, 'key'> {
  readonly key: string | null;
  readonly table: core.RestrictionTableName;
}

/** Is notified of restrictions, for logs and for streams that have to be closed. Must not throw. */
export interface RestrictionListener {
  restricted(restriction: Restriction): void;
  /** A current restriction ends later than announced, perhaps for another reason. */
  prolonged(restriction: Restriction): void;
  released(restriction: Restriction): void;
  /** A restriction was evicted: its table was full, and another one began. Alert on this. */
  evicted(restriction: EvictedRestriction): void;
}

/** A restriction that an operator lifted, as announced to other gateways. */
export interface Lift {
  /** The digest of the restriction. */
  readonly digest: string;
  /** How often restrictions of this client were lifted, from 1 on. Those that began at a lower number are over. */
  readonly count: number;
  readonly forMs: number;
}

export interface RestrictionsOptions {
  readonly clock: core.Clock;
  readonly listener: RestrictionListener;
  /** Called for each restriction that begins here, so that other gateways adopt it. Default null: there are none. */
  readonly announce?: ((restriction: AnonymousRestriction) => void) | null;
  /** Called for each restriction that is lifted here, so that other gateways lift it as well. Default null. */
  readonly announceLift?: ((lift: Lift) => void) | null;
  /** Called for each restriction evicted here before its end, so that other gateways store a bounded number. Default null. */
  readonly withdraw?: ((restriction: AnonymousRestriction) => void) | null;
  /**
   * This thread's role if several threads of a process share restrictions: they exchange names, and count offences together.
   * Default null: there is only one.
   */
  readonly thread?: RestrictionThread | null;
  /**
   * Maximum restrictions held in each table. Default 10,000 by operators, 50,000 of principals, 100,000 of addresses, 50,000 on
   * webhooks.
   */
  readonly places?: Readonly<Record<core.RestrictionTableName, number>>;
  /** Returns the network of an address, given its key. Default: all addresses have the same. */
  readonly networkOf?: (address: string) => string;
}

/** What differs if several threads of a process share restrictions. */
export interface RestrictionThread {
  /**
   * Whether this thread does what happens once per process: when a client starts over, its offences are forgotten by the thread
   * that ended its restriction, or else, if that was in another process, by the main one.
   */
  readonly isMain: boolean;
  /** Called for each restriction of another process when its client is first seen here. */
  met(restriction: AnonymousRestriction): void;
}

/** A restriction in its table. */
export interface Entry extends ListedRestriction, Member {
  readonly kind: core.RestrictedKind;
  /** The hash of the webhook. Empty for other kinds, and if another gateway announced it and its client was never seen here. */
  readonly webhook: string;
  /** On the monotonic clock. */
  readonly untilMs: number;
  readonly slackMs: number;
  /** How often restrictions of this client had been lifted when this one began. */
  readonly lifts: number;
  /** The digest of the webhook's caller, as in `AnonymousRestriction`. */
  readonly owner: string;
}

/** A restriction of a client that this gateway knows by name. */
export interface Held extends Entry {
  readonly key: string;
}

export function isHeld(entry: Entry): entry is Held {
  return entry.key !== null;
}

/** A restriction ends slightly before the announced time, like a window. */
const SLACK_MS = 20;
const MAX_SLACK = 0.02;

export function slackOf(forMs: number): number {
  return Math.min(SLACK_MS, forMs * MAX_SLACK);
}

export function isOver({ untilMs, slackMs }: Pick<Entry, 'untilMs' | 'slackMs'>, nowMs: number): boolean {
  return nowMs >= untilMs - slackMs;
}

/** Identifies a client to all gateways and in the admin API, without revealing it. */
export function digestOfWhom({ kind, key, webhook }: Omit<Restricted, 'reason'>): string {
  return digestOf(`${kind} ${key} ${webhook}`);
}

/** Enough digits to distinguish networks. Two with the same digits would only be treated as one. */
const NETWORK_DIGITS = 11;

export function digestOfNetwork(network: string): string {
  return network === '' ? '' : digestOf(`network ${network}`).slice(0, NETWORK_DIGITS);
}

/** Returns the restriction as it would be announced now. */
export function announced(
  { kind, digest, reason, untilMs, lifts, sinceEpochMs, network, owner }: Entry,
  nowMs: number,
): AnonymousRestriction {
  return { kind, digest, reason, forMs: untilMs - nowMs, lifts, sinceEpochMs, network, owner };
}

/**
 * A client that is checked repeatedly, such as that of a stream. Keeps the digest that other gateways use: a hash costs a
 * microsecond, and the clients of all streams are checked twice a second.
 */
export class KnownClient implements RestrictedClient {
  readonly kind: RestrictedClient['kind'];
  readonly key: string;
  /** The digest, computed on first use; '' until then. */
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
