import type * as core from '../../core/index.ts';
import { digestOf, ownString } from '../../core/index.ts';
import type { Member } from './eviction-order.ts';

/** Who or what is refused. */
export interface Whom {
  readonly kind: core.RestrictedKind;
  /** The address, the principal, or the address of the webhook's caller. */
  readonly key: string;
  /** Hash of the webhook; empty for the other kinds. */
  readonly webhook: string;
}

/** An address or a principal. */
export type RestrictedClient = Pick<Whom, 'key'> & { readonly kind: 'address' | 'principal' };

/** Who is refused, and why. */
export interface Restricted extends Whom {
  readonly reason: core.RestrictionReason;
}

/** A temporary refusal, as its table holds it. */
export interface Restriction extends Member {
  readonly kind: core.RestrictedKind;
  readonly reason: core.RestrictionReason;
  /** The client, as in `Whom`; `null` if another gateway announced the restriction and the client was not seen here. */
  readonly key: string | null;
  /** As in `Whom`; empty while the client is unknown. */
  readonly webhook: string;
  /** The digest of the client, shared by an automatic restriction and an operator's. */
  readonly digest: string;
  /** The digest of the address that calls a webhook, as in a restriction of that address; '' for other kinds. */
  readonly owner: string;
  readonly sinceEpochMs: number;
  /** When it ends, in milliseconds since the epoch, as first announced. */
  readonly untilEpochMs: number;
  /** The same on the monotonic clock. */
  readonly untilMs: number;
  readonly slackMs: number;
  /** How often restrictions of this client had been lifted when this one began. */
  readonly lifts: number;
}

/** A restriction of a client that this gateway knows by name. */
export type NamedRestriction = Restriction & Whom;

/** A restriction as announced to other gateways, with a digest instead of the client. */
export interface AnonymousRestriction
  extends Pick<Restriction, 'kind' | 'reason' | 'digest' | 'owner' | 'lifts' | 'network'> {
  readonly forMs: number;
  /** When it began; `null` if announced by a gateway of an older version. */
  readonly sinceEpochMs: number | null;
  /** The client by name, only for threads of this process. */
  readonly whom?: core.FactSubject | undefined;
}

/** Is notified of restrictions, for logs and for streams that have to be closed. Must not throw. */
export interface RestrictionListener {
  restricted(restriction: NamedRestriction): void;
  /** A current restriction ends later than announced, perhaps for another reason. */
  prolonged(restriction: NamedRestriction): void;
  released(restriction: NamedRestriction): void;
  /** A restriction was evicted: its table was full, and another one began. Alert on this. */
  evicted(restriction: Restriction & { readonly table: core.RestrictionTableName }): void;
}

/** A restriction that an operator lifted, as announced to other gateways. */
export interface Lift {
  readonly digest: string;
  /** How often restrictions of this client were lifted, from 1 on. Those that began at a lower number are over. */
  readonly count: number;
  readonly forMs: number;
}

export function tableOf({ kind, reason }: Pick<Restriction, 'kind' | 'reason'>): core.RestrictionTableName {
  return reason === 'operator' ? 'operator' : kind;
}

export function isNamed(restriction: Restriction): restriction is NamedRestriction {
  return restriction.key !== null;
}

/** A restriction ends slightly before the announced time, like a window. */
const SLACK_MS = 20;
const MAX_SLACK = 0.02;

export function newRestriction<T extends Omit<Restriction, 'slackMs' | 'place'>>(begun: T) {
  const slackMs = Math.min(SLACK_MS, (begun.untilEpochMs - begun.sinceEpochMs) * MAX_SLACK);
  return { ...begun, slackMs, place: 0 };
}

export function isOver({ untilMs, slackMs }: Restriction, nowMs: number): boolean {
  return nowMs >= untilMs - slackMs;
}

/** The restriction with a later end. */
export function prolonged<T extends Restriction>(restriction: T, untilMs: number): T {
  const untilEpochMs = restriction.untilEpochMs + untilMs - restriction.untilMs;
  return { ...restriction, untilMs, untilEpochMs };
}

/** Identifies a client to all gateways and in the admin API, without revealing it. */
export function digestOfWhom({ kind, key, webhook }: Whom): string {
  return digestOf(`${kind} ${key} ${webhook}`);
}

/** Enough digits to distinguish networks. Two with the same digits would only be treated as one. */
const NETWORK_DIGITS = 11;

export function digestOfNetwork(network: string): string {
  return network === '' ? '' : digestOf(`network ${network}`).slice(0, NETWORK_DIGITS);
}

/**
 * A client that is checked repeatedly, such as that of a stream. Keeps the digest that other gateways use: a hash costs a
 * microsecond, and the clients of all streams are checked twice a second.
 */
export class KnownClient implements Whom {
  readonly kind: RestrictedClient['kind'];
  readonly key: string;
  readonly webhook = '';
  /** The digest, computed on first use; '' until then. */
  #digest = '';

  constructor(kind: RestrictedClient['kind'], key: string) {
    this.kind = kind;
    this.key = key;
  }

  get digest(): string {
    if (this.#digest === '') this.#digest = ownString(digestOfWhom(this));
    return this.#digest;
  }
}
