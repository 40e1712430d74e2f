// The lists here are closed: their words are values of metric labels and of log lines.

/** What limits may decide: `admitted`, or the limit that refused. */
export const DECISION_OUTCOMES = ['admitted', 'global', 'caller', 'group', 'resource', 'concurrent'] as const;
export type DecisionOutcome = (typeof DECISION_OUTCOMES)[number];

/** How callers are identified: by the token of a bot or of a user, or by an address. */
export const CALLER_CLASSES = ['bot', 'user', 'address'] as const;
export type CallerClass = (typeof CALLER_CLASSES)[number];

/** The class that decides the limits of a caller: one of gateway.yaml by its name, else `bot`, `user` or `address`. */
export type ClassName = string;

/** What was decided about a request. */
export interface DecisionEvent {
  /** The bucket as configured; `null` if the request has none. */
  readonly bucket: string | null;
  readonly callerClass: ClassName;
  /** The principal or the address that is counted. Identifies a person: never write a principal unhashed. */
  readonly caller: string;
  readonly outcome: DecisionOutcome;
  /** At least 80 % of the limit described is used up. */
  readonly nearLimit: boolean;
}

/** What a restriction refuses: everything of an address, everything of a principal, or one address on one webhook. */
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
 * The tables of restrictions: one for those of operators, and one for each kind of the others. A full table takes no room from
 * another.
 */
export const RESTRICTION_TABLES = ['operator', 'principal', 'address', 'webhook'] as const;
export type RestrictionTableName = (typeof RESTRICTION_TABLES)[number];

/** A restriction refused a request, or `blocked` in limits.yaml did: before a bucket was looked up. */
export interface RestrictionRefusal {
  readonly callerClass: ClassName;
  /** The caller, named as in `DecisionEvent`. */
  readonly caller: string;
  readonly why: RestrictionReason | 'blocked';
}

/** What would have refused a request if it were not in shadow: one of its limits, or a restriction. */
export type ShadowRefuser = Exclude<DecisionOutcome, 'admitted'> | RestrictionReason;

/** A request went on that something in shadow would have refused. */
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

/** A restriction that had to give way. `key` is null if its client has not been seen by this gateway. */
export interface EvictionEvent extends Omit<RestrictionEvent, 'key'> {
  readonly key: string | null;
  readonly table: RestrictionTableName;
}

/** How holding a request ended. */
export const HELD_OUTCOMES = [
  /** It was decided again, and served. */
  'admitted',
  /** It was decided again, and refused. */
  'refused',
  /** Its client went away. */
  'abandoned',
  /** It was decided at once, because too many were held. */
  'no_room',
] as const;
export type HeldOutcome = (typeof HELD_OUTCOMES)[number];

/** Hears what limits and restrictions do. Must be quick and must not throw. */
export interface LimitListener {
  decided(event: DecisionEvent): void;
  /** Refused before its limits were asked, so that nothing was decided. */
  refusedByRestriction(event: RestrictionRefusal): void;
  /** Called once for each that would have refused the request. */
  shadowRefused(event: ShadowEvent): void;
  /** A request that a limit refused was to be held until the limit has room again: what became of it. */
  held(outcome: HeldOutcome): void;
  /** A restriction would have begun if its rule were not in shadow. */
  shadowRestricted(event: RestrictionEvent): void;
  /** A request ended invalid: 401, 403 or 429. */
  invalid(status: number): void;
  restricted(event: RestrictionEvent): void;
  /** A restriction in force ends later than announced, maybe for another reason. */
  prolonged(event: RestrictionEvent): void;
  released(event: RestrictionEvent): void;
  /** A restriction was given up early because its table was full and another one began. */
  evicted(event: EvictionEvent): void;
}

/** Hears when the gateway sheds requests. Must be quick and must not throw. */
export interface OverloadListener {
  /**
   * New work is refused from now on.
   *
   * @param delayMs how late the event loop is, on the average of a second
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

/** What decided about a request: the shared store, one of its recent refusals, or the policy while it is unreachable. */
export const DECIDED_BY = ['redis', 'known_refusal', ...FAILURE_POLICIES] as const;
export type DecidedBy = (typeof DECIDED_BY)[number];

/** Why a command to the shared store failed. */
export const STORE_FAILURES = ['timeout', 'disconnected', 'error'] as const;
export type StoreFailure = (typeof STORE_FAILURES)[number];

/** Hears about the health of the shared store. Called on the request's path: must be quick and must not throw. */
export interface StoreListener {
  decidedBy(who: DecidedBy): void;
  /** One command failed. `cause` is what the server or the connection said: never a key or a secret. */
  failed(failure: StoreFailure, cause: string): void;
  /** The policy decides from now on: too many commands failed, or the store could not be reached at the start. */
  lost(policy: FailurePolicy, cause: string): void;
  /** The store decides, for the first time or again. `lostForMs`: how long the policy did, 0 at the start. */
  found(lostForMs: number): void;
  /** The gateway serves from now on although it could not read what the others know: restrictions and revocations. */
  behind(): void;
  /** The gateway has now read what the others know. */
  caughtUp(): void;
  /** What gateways share could not be applied here, through a fault of this gateway: so many facts are skipped. */
  shareFailed(skippedFacts: number, error: unknown): void;
  /** @param refusal why Redis refuses the other gateways' messages, so that polling alone finds them; `null` if they arrive */
  subscribed(refusal: string | null): void;
  /** A round trip, and how far the store's clock is ahead of this gateway's. About once a second. */
  beat(roundTripMs: number, clockAheadMs: number, replicas: number): void;
}
