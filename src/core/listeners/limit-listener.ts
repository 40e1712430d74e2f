import type { WarningListener } from './warning-listener.ts';

// The lists here are closed: their words are values of metric labels and in log lines.

/** Possible decisions of limits: `admitted`, or the limit that refused. */
export const DECISION_OUTCOMES = ['admitted', 'global', 'caller', 'group', 'resource', 'concurrent'] as const;
export type DecisionOutcome = (typeof DECISION_OUTCOMES)[number];

/** How callers are identified: by the token of a bot or of a user, or by an address. */
export const CALLER_CLASSES = ['bot', 'user', 'address'] as const;
export type CallerClass = (typeof CALLER_CLASSES)[number];

/** The class that decides the limits of a caller: one of gateway.yaml by its name, else `bot`, `user` or `address`. */
export type ClassName = string;

/** What a caller has left of a quota that lasts an hour or more. */
export interface QuotaUse {
  /** The period as configured, such as `day`. */
  readonly period: string;
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds since the epoch. */
  readonly resetAtMs: number;
}

export interface DecisionEvent {
  /** The bucket as configured; `null` if the request has none. */
  readonly bucket: string | null;
  readonly callerClass: ClassName;
  /** The principal or the address that is counted. Identifies a person: never write a principal unhashed. */
  readonly caller: string;
  readonly outcome: DecisionOutcome;
  /** The period of the window that refused, or that is described, as configured; `''` unless its limit has several windows. */
  readonly period: string;
  /** Whether at least 80 % of the limit described is used up. */
  readonly nearLimit: boolean;
  /** The quota that refused or is nearly used up, if it lasts an hour or more and applies to this caller alone. */
  readonly quota?: QuotaUse | undefined;
}

/** What a restriction refuses: everything from an address, everything from a principal, or one address at one webhook. */
export const RESTRICTED_KINDS = ['address', 'principal', 'webhook'] as const;
export type RestrictedKind = (typeof RESTRICTED_KINDS)[number];

/** What each reason restricts. The reasons are keys of limits.yaml; `operator` is a restriction added by the admin API. */
export const RESTRICTS = {
  invalid_requests: ['address'],
  webhook_not_found: ['webhook', 'address'],
  ignored_refusals: ['address', 'principal'],
  operator: ['address', 'principal'],
} as const satisfies Readonly<Record<string, readonly RestrictedKind[]>>;
export type RestrictionReason = keyof typeof RESTRICTS;
export const RESTRICTION_REASONS = Object.keys(RESTRICTS) as readonly RestrictionReason[];

/**
 * The tables of restrictions: one for those by operators, and one for each kind of the others. A full table takes no room from
 * another.
 */
export const RESTRICTION_TABLES = ['operator', 'principal', 'address', 'webhook'] as const;
export type RestrictionTableName = (typeof RESTRICTION_TABLES)[number];

/** A request refused by a restriction, or by `blocked` in limits.yaml, before the bucket was looked up. */
export interface RestrictionRefusal {
  readonly callerClass: ClassName;
  /** The caller, named as in `DecisionEvent`. */
  readonly caller: string;
  readonly why: RestrictionReason | 'blocked';
}

/** The limit that would have refused a request if it were not in shadow. */
export type ShadowRefuser = Exclude<DecisionOutcome, 'admitted'>;

/** A request that continued although something in shadow would have refused it. */
export interface ShadowEvent {
  /** The bucket as configured; `null` if the request has none. */
  readonly bucket: string | null;
  readonly callerClass: ClassName;
  readonly by: ShadowRefuser;
}

/** A temporary refusal. Metrics use its kind and reason only. */
export interface RestrictionEvent {
  readonly kind: RestrictedKind;
  readonly reason: RestrictionReason;
  /** The address or principal, for the log. */
  readonly key: string;
  readonly untilEpochMs: number;
}

/** A restriction that was evicted. `key` is null if its client was not seen by this gateway. */
export interface EvictionEvent extends Omit<RestrictionEvent, 'key'> {
  readonly key: string | null;
  readonly table: RestrictionTableName;
}

/** The outcomes of holding a request. */
export const HELD_OUTCOMES = [
  /** It was decided again, and served. */
  'admitted',
  /** It was decided again, and refused. */
  'refused',
  /** Its client disconnected. */
  'abandoned',
  /** It was decided at once, because too many were held. */
  'no_room',
] as const;
export type HeldOutcome = (typeof HELD_OUTCOMES)[number];

/**
 * How the price of a request became known, if its response should name it:
 * - `told`: by the field or trailer
 * - `untold`: the response had neither, so the reserve stands
 * - `wrong`: it was not one whole number, so the reserve stands
 * - `unknown`: the client left, or the stream broke, before it was known, so the maximum was charged
 */
export const PRICE_OUTCOMES = ['told', 'untold', 'wrong', 'unknown'] as const;
export type PriceOutcome = (typeof PRICE_OUTCOMES)[number];

/** The price of a request whose response should name it, once it is settled. */
export interface PriceEvent {
  /** The bucket as configured. */
  readonly bucket: string;
  readonly outcome: PriceOutcome;
  /** The field that should contain the price. */
  readonly field: string;
}

/** Is notified of what limits and restrictions do. Must be quick and must not throw. */
export interface LimitListener extends WarningListener {
  decided(event: DecisionEvent): void;
  /** A request was refused before its limits were checked, so that nothing was decided. */
  refusedByRestriction(event: RestrictionRefusal): void;
  /** Called once for each shadow limit that would have refused the request. */
  shadowRefused(event: ShadowEvent): void;
  /** The price of a request is settled. */
  priced(event: PriceEvent): void;
  /** The outcome for a request that was to be held until the limit has room again. */
  held(outcome: HeldOutcome): void;
  /** A request ended invalid: 401, 403 or 429. */
  invalid(status: number): void;
  restricted(event: RestrictionEvent): void;
  /** A current restriction ends later than announced, perhaps for another reason. */
  prolonged(event: RestrictionEvent): void;
  released(event: RestrictionEvent): void;
  /** A restriction was evicted because its table was full and another one began. */
  evicted(event: EvictionEvent): void;
}

/** Is notified when the gateway sheds requests. Must be quick and must not throw. */
export interface OverloadListener {
  /**
   * New work is refused from now on.
   *
   * @param delayMs the delay of the event loop, averaged over a second
   */
  began(delayMs: number): void;
  /** The gateway serves all requests again. `refused`: how many it refused meanwhile. */
  ended(lastedMs: number, refused: number): void;
}

/**
 * What happens while the shared store is unreachable:
 * - `local`: counters of this process decide, with quotas divided by the number of replicas
 * - `open`: every request passes
 * - `closed`: every request is refused (503)
 */
export const FAILURE_POLICIES = ['local', 'open', 'closed'] as const;
export type FailurePolicy = (typeof FAILURE_POLICIES)[number];

/** What decided about a request: the shared store, one of its recent refusals, or the policy for when the store is unreachable. */
export const DECIDED_BY = ['redis', 'known_refusal', ...FAILURE_POLICIES] as const;
export type DecidedBy = (typeof DECIDED_BY)[number];

/** Why a command to the shared store failed. */
export const STORE_FAILURES = ['timeout', 'disconnected', 'error'] as const;
export type StoreFailure = (typeof STORE_FAILURES)[number];

/** Is notified about the health of the shared store. Called on the request's path: must be quick and must not throw. */
export interface StoreListener {
  decidedBy(who: DecidedBy): void;
  /** One command failed. `cause` is the message of the server or the connection: never a key or a secret. */
  failed(failure: StoreFailure, cause: string): void;
  /** The policy decides from now on: too many commands failed, or the store could not be reached at startup. */
  lost(policy: FailurePolicy, cause: string): void;
  /** The store decides, for the first time or again. `lostForMs`: how long the policy did, 0 at startup. */
  found(lostForMs: number): void;
  /** The gateway serves from now on although it could not read the restrictions and revocations that the others know. */
  behind(): void;
  /** The gateway has now read what the others know. */
  caughtUp(): void;
  /** Shared facts could not be applied here, through a fault of this gateway: this many are skipped. */
  shareFailed(skippedFacts: number, error: unknown): void;
  /** @param refusal why Redis refuses the other gateways' messages, so that only polling finds them; `null` if they arrive */
  subscribed(refusal: string | null): void;
  /** The commands that the store does not permit to this gateway's user; empty once all are permitted again. */
  rightsMissing(commands: readonly string[]): void;
  /**
   * The store refused a command that no decision depends on, so its effect is missing. `task`: its purpose, such as `return units`.
   */
  taskFailed(task: string, cause: string): void;
  /** A round trip, and how far the store's clock is ahead of this gateway's. About once a second. */
  beat(roundTripMs: number, clockAheadMs: number, replicas: number): void;
}
