import { digestOf } from '../../core/index.ts';
import type { Member } from './eviction-order.ts';
import type { AnonymousRestriction, ListedRestriction, Restricted, RestrictedKind } from './restriction.ts';

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
