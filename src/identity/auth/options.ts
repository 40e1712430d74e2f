import type { Tenants } from '../../core/index.ts';

/** Which access tokens are accepted, and which of their claims identify the caller. */
export interface AccessTokenOptions {
  /** The `iss` of every token, compared character by character. */
  readonly issuer: string;
  /** Set if the `iss` of tokens has the value of a claim in place of a part of `issuer`; `null` if it must equal `issuer`. */
  readonly tenants: Tenants | null;
  /** Whether tokens of other issuers are accepted as well. Principals then begin with the issuer. */
  readonly isOneOfSeveral: boolean;
  /** Accepted audiences: a token must have one of them. `null` if the operator allows any. */
  readonly audience: readonly string[] | null;
  /** The claim that names the audience of a token, usually `aud`. */
  readonly audienceClaim: string;
  /**
   * How to distinguish an access token from an ID token.
   * - `access`: by the marks of the standards, or else by its audience
   * - a claim: by the marks of the standards, or else by this claim, which only access tokens have
   * - `access_or_id`: not at all, so ID tokens without a mark are accepted
   */
  readonly tokenKind: 'access' | 'access_or_id' | ClaimMark;
  /** The gateway's own client id at the provider, or `null`. ID tokens made for the gateway carry it as `aud`. */
  readonly clientId: string | null;
  /** The claims that together form a user's principal. */
  readonly principal: readonly string[];
  /** Which callers are bots; `null` if none are. */
  readonly bots: BotRule | null;
  /** The classes that callers may belong to; the first that matches counts. */
  readonly classes: readonly ClassRule[];
  /** Header fields that identify the caller to the upstream, in the order they are sent. */
  readonly identityHeaders: readonly IdentityHeader[];
  /** Claims that a caller keeps of its token, because other parts of the configuration depend on them. */
  readonly keptClaims: readonly string[];
  /** What routes require of tokens, without duplicates. */
  readonly requirements: readonly Requirement[];
  /** Claims that list roles, in addition to Keycloak's. */
  readonly roleClaims: readonly string[];
  /** Whether tokens may or must be bound to a key (RFC 9449): then requests need a proof. */
  readonly dpop: 'off' | 'accepted' | 'required';
  /** How far the issuer's clock may be ahead of or behind ours. */
  readonly leewayMs: number;
  /** Maximum time from `iat` to `exp`; `null` for no limit. */
  readonly maxLifetimeMs: number | null;
}

/** A token is marked when it has this claim, or has it with this value. */
export interface ClaimMark {
  readonly claim: string;
  /**
   * The value that the claim must equal, or contain if it is a list; `null` if it only has to be present (not null, false or
   * empty).
   */
  readonly value: string | null;
}

/** A caller is a bot when its token is marked. */
export interface BotRule extends ClaimMark {
  /** The claims that together form a bot's principal. With `azp` alone, all tokens of a client are one bot. */
  readonly principal: readonly string[];
}

/** What a route requires of a token, in addition to being valid. All of it must be met. */
export interface Requirement {
  /** Its index among all requirements of the configuration. */
  readonly index: number;
  readonly scopes: readonly string[];
  readonly roles: readonly Role[];
  readonly claims: readonly ClaimRule[];
}

/** A role of a client or, if `client` is `null`, of the realm or of a claim that lists roles. */
export interface Role {
  readonly client: string | null;
  readonly name: string;
}

/** The claim must equal one of the values, or contain one if it is a list. */
export interface ClaimRule {
  readonly claim: string;
  readonly values: readonly string[];
}

/** A class of callers: those whose tokens have a claim, and those listed. */
export interface ClassRule {
  readonly name: string;
  /** Identifies its tokens as the rule for bots does; `null` if the class only lists callers. */
  readonly marked: ClaimMark | null;
  /** The principals of the listed callers. */
  readonly callers: ReadonlySet<string>;
}

export interface IdentityHeader {
  /** The name of the field sent upstream, such as `X-Auth-Subject`. */
  readonly name: string;
  readonly claim: string;
}

export interface KeySetOptions {
  /** The time between two background fetches, less up to a random tenth. */
  readonly refreshMs: number;
  /** How long after a fetch unknown keys do not cause another. */
  readonly cooldownMs: number;
  /** Maximum time of one fetch, from the request to the last byte of the response. */
  readonly fetchTimeoutMs: number;
  /** The largest accepted response. */
  readonly maxBytes: number;
  /** Maximum number of keys in a response, including those for other uses. */
  readonly maxKeys: number;
}

export interface CacheOptions {
  /** The number of valid tokens. */
  readonly maxTokens: number;
  /** The number of invalid tokens. */
  readonly maxRefused: number;
  /** How long an invalid token is refused without another check. */
  readonly refusedForMs: number;
}

export interface BudgetOptions {
  /** Failed verifications per period. */
  readonly limit: number;
  readonly periodMs: number;
  /** Checks per second that an address still gets once its budget is spent. */
  readonly checksPerSecond: number;
  /** A window counts as closed this long before its announced end. */
  readonly slackMs: number;
  /** The maximum number of addresses being counted, and of addresses with a spent budget. */
  readonly maxAddresses: number;
}

export interface RevocationOptions {
  /** The maximum number of subjects with their own mark, and of sessions. */
  readonly maxEntries: number;
  /** After this many ended sessions of one subject, all its sessions are ended. */
  readonly maxSessionsOfOne: number;
  /** The assumed lifetime of tokens in seconds, until one that lives longer is seen. */
  readonly keepS: number;
}

/** The key set options that are not configurable. */
export const KEY_SET_LIMITS = { maxBytes: 1_048_576, maxKeys: 500 } as const;

/** The cache options that are not configurable. */
export const CACHE_LIMITS = { maxRefused: 10_000, refusedForMs: 10_000 } as const;

/** The budget options that are not configurable. */
export const BUDGET_LIMITS = { checksPerSecond: 10, slackMs: 20, maxAddresses: 100_000 } as const;

/** The budget of failed verifications until a configuration sets it. */
export const UNUSED_BUDGET: BudgetOptions = {
  ...BUDGET_LIMITS,
  limit: Number.POSITIVE_INFINITY,
  periodMs: 0,
};

/** How many invalid notices an address may send: far more than a provider with a wrong clock sends. */
export const NOTICE_BUDGET: BudgetOptions = {
  ...BUDGET_LIMITS,
  limit: 100,
  periodMs: 60_000,
  maxAddresses: 10_000,
};

export const REVOCATION_LIMITS: RevocationOptions = {
  maxEntries: 100_000,
  maxSessionsOfOne: 1_000,
  keepS: 86_400,
};
