/** Which access tokens are accepted, and which of their claims identify the caller. */
export interface AccessTokenOptions {
  /** The `iss` of every token, compared character by character. */
  readonly issuer: string;
  /** What `aud` must name; null: the operator allows any audience. */
  readonly audience: string | null;
  /** The gateway's own client id at the provider; null: it has none. ID tokens made for it carry this as `aud`. */
  readonly clientId: string | null;
  /** Claims that together are a user's principal. Default `azp` and `sub`. */
  readonly principal: readonly string[];
  /** Which callers are bots; null: none. */
  readonly bots: BotRule | null;
  /** Header fields that identify the caller to the upstream, in the order they are sent. */
  readonly identityHeaders: readonly IdentityHeader[];
  /** How far the issuer's clock may be ahead of or behind ours. Default 30 s. */
  readonly leewayMs: number;
}

/** A caller is a bot when its token has this claim, or has it with this value. */
export interface BotRule {
  readonly claim: string;
  /** What the claim must equal, or contain if it is a list; null: it must be present (not null, false or empty). */
  readonly value: string | null;
  /** Claims that together are a bot's principal. Default `azp`: all tokens of a client are one bot. */
  readonly principal: readonly string[];
}

export interface IdentityHeader {
  /** The field's name as it goes upstream, `X-Auth-Subject`. */
  readonly name: string;
  readonly claim: string;
}

/** How the issuer's keys are kept. */
export interface KeySetOptions {
  /** Between two background fetches, less up to a random tenth. Default 10 min. */
  readonly refreshMs: number;
  /** How long after any fetch no unknown key causes another. Default 5 s. */
  readonly cooldownMs: number;
  /** For one whole fetch. Default 5 s. */
  readonly fetchTimeoutMs: number;
  /** Largest response. Default 256 KiB. */
  readonly maxBytes: number;
  /** Maximum number of keys in a response, including those for other uses. Default 100. */
  readonly maxKeys: number;
}

/** What the verifier remembers. */
export interface CacheOptions {
  /** Tokens found valid. Default 50,000. */
  readonly maxTokens: number;
  /** Tokens found invalid. Default 10,000. */
  readonly maxRefused: number;
  /** How long an invalid token is refused without another check. Default 10 s. */
  readonly refusedForMs: number;
}

/** The budget of failed verifications of one address. */
export interface BudgetOptions {
  /** Failed verifications per period. Default 1,000. */
  readonly limit: number;
  /** Default 1 min. */
  readonly periodMs: number;
  /** Checks that an address still gets each second once its budget is spent. Default 10. */
  readonly checksPerSecond: number;
  /** A window counts as closed this much before its announced end. Default 20 ms. */
  readonly slackMs: number;
  /** Maximum number of addresses being counted, and the same again with a spent budget. Default 100,000. */
  readonly maxAddresses: number;
}

/** How not-before marks are kept. */
export interface MarkOptions {
  /** Subjects with a mark of their own. Default 100,000. */
  readonly maxSubjects: number;
  /** Minimum time a subject's mark is kept, from the moment it names. Default 24 h. */
  readonly keepMs: number;
}

export const KEY_SET_DEFAULTS: KeySetOptions = {
  refreshMs: 600_000,
  cooldownMs: 5_000,
  fetchTimeoutMs: 5_000,
  maxBytes: 262_144,
  maxKeys: 100,
};

export const CACHE_DEFAULTS: CacheOptions = { maxTokens: 50_000, maxRefused: 10_000, refusedForMs: 10_000 };

export const BUDGET_DEFAULTS: BudgetOptions = {
  limit: 1_000,
  periodMs: 60_000,
  checksPerSecond: 10,
  slackMs: 20,
  maxAddresses: 100_000,
};

export const MARK_DEFAULTS: MarkOptions = { maxSubjects: 100_000, keepMs: 86_400_000 };
