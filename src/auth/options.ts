/** Which access tokens are accepted, and which of their claims identify the caller. */
export interface AccessTokenOptions {
  /** The `iss` of every token, compared character by character. */
  readonly issuer: string;
  /** Whether tokens of other issuers are accepted, too. Principals then begin with the issuer. */
  readonly isOneOfSeveral: boolean;
  /** What `aud` must name; null: the operator allows any audience. */
  readonly audience: string | null;
  /** The gateway's own client id at the provider; null: it has none. ID tokens made for it carry this as `aud`. */
  readonly clientId: string | null;
  /** Claims that together are a user's principal. */
  readonly principal: readonly string[];
  /** Which callers are bots; null if absent. */
  readonly bots: BotRule | null;
  /** Header fields that identify the caller to the upstream, in the order they are sent. */
  readonly identityHeaders: readonly IdentityHeader[];
  /** How far the issuer's clock may be ahead of or behind ours. */
  readonly leewayMs: number;
  /** From `iat` to `exp`; null: any. */
  readonly maxLifetimeMs: number | null;
}

/** A caller is a bot when its token has this claim, or has it with this value. */
export interface BotRule {
  readonly claim: string;
  /** What the claim must equal, or contain if it is a list; null: it must be present (not null, false or empty). */
  readonly value: string | null;
  /** Claims that together are a bot's principal. With `azp` alone, all tokens of a client are one bot. */
  readonly principal: readonly string[];
}

export interface IdentityHeader {
  /** The field's name as it goes upstream, `X-Auth-Subject`. */
  readonly name: string;
  readonly claim: string;
}

/** How the issuer's keys are kept. */
export interface KeySetOptions {
  /** Between two background fetches, less up to a random tenth. */
  readonly refreshMs: number;
  /** How long after any fetch no unknown key causes another. */
  readonly cooldownMs: number;
  /** For one whole fetch. */
  readonly fetchTimeoutMs: number;
  /** Largest response. */
  readonly maxBytes: number;
  /** Maximum number of keys in a response, including those for other uses. */
  readonly maxKeys: number;
}

/** What the verifier remembers. */
export interface CacheOptions {
  /** Tokens found valid. */
  readonly maxTokens: number;
  /** Tokens found invalid. */
  readonly maxRefused: number;
  /** How long an invalid token is refused without another check. */
  readonly refusedForMs: number;
}

/** The budget of failed verifications of one address. */
export interface BudgetOptions {
  /** Failed verifications per period. */
  readonly limit: number;
  readonly periodMs: number;
  /** Checks that an address still gets each second once its budget is spent. */
  readonly checksPerSecond: number;
  /** A window counts as closed this much before its announced end. */
  readonly slackMs: number;
  /** Maximum number of addresses being counted, and the same again with a spent budget. */
  readonly maxAddresses: number;
}

/** How revocations of one issuer are kept. */
export interface RevocationOptions {
  /** Subjects with a mark of their own, and the same number of sessions. */
  readonly maxEntries: number;
  /** Sessions of one subject that this gateway ends, within the time that they are kept, before it ends all of the subject's. */
  readonly maxSessionsOfOne: number;
  /** How long tokens are taken to live until one that lives longer is seen, in seconds. */
  readonly keepS: number;
}

/** The key set options that are not configurable. */
export const KEY_SET_LIMITS = { maxBytes: 262_144, maxKeys: 100 } as const;

/** The cache options that are not configurable. */
export const CACHE_LIMITS = { maxRefused: 10_000, refusedForMs: 10_000 } as const;

/** The budget options that are not configurable. */
export const BUDGET_LIMITS = { checksPerSecond: 10, slackMs: 20, maxAddresses: 100_000 } as const;

/** Bad notices that claim to be of the provider: far more than a provider with another clock sends. */
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
