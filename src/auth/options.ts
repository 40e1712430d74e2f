/** Which access tokens are accepted, and what their claims say about the sender. */
export interface AccessTokenOptions {
  /** The `iss` of every token, compared character by character. */
  readonly issuer: string;
  /** What `aud` must name; null: any audience, the operator said so. */
  readonly audience: string | null;
  /** The gateway's own client id at the provider; null: it has none. ID tokens made for it carry this as `aud`. */
  readonly clientId: string | null;
  /** Claims that together are a user's principal. Default `azp` and `sub`. */
  readonly principal: readonly string[];
  /** Which callers are bots; null: nobody is. */
  readonly bots: BotRule | null;
  /** Header fields that tell the upstream who calls, in the order they are sent. */
  readonly identityHeaders: readonly IdentityHeader[];
  /** How far the issuer's clock may be from ours, in both directions. Default 30 s. */
  readonly leewayMs: number;
}

/** A caller is a bot when its token has this claim, or has it with this value. */
export interface BotRule {
  readonly claim: string;
  /** What the claim must equal, or hold where it is a list; null: that it is there (not null, false or empty). */
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
  /** Between two background fetches, less up to a tenth by chance. Default 10 min. */
  readonly refreshMs: number;
  /** After any fetch no unknown key causes another for so long. Default 5 s. */
  readonly cooldownMs: number;
  /** For one fetch in all. Default 5 s. */
  readonly fetchTimeoutMs: number;
  /** Largest answer. Default 256 KiB. */
  readonly maxBytes: number;
  /** Most keys in an answer, those for other uses included. Default 100. */
  readonly maxKeys: number;
}

/** What the verifier remembers. */
export interface CacheOptions {
  /** Tokens found good. Default 50,000. */
  readonly maxTokens: number;
  /** Tokens found bad. Default 10,000. */
  readonly maxRefused: number;
  /** How long a bad token is refused unchecked. Default 10 s. */
  readonly refusedForMs: number;
}

/** The budget of failed verifications of one address. */
export interface BudgetOptions {
  /** Failed verifications per period. Default 1,000. */
  readonly limit: number;
  /** Default 1 min. */
  readonly periodMs: number;
  /** Checks that an address still gets per second once its budget is spent. Default 10. */
  readonly checksPerSecond: number;
  /** A window counts as closed this much before its announced end. Default 20 ms. */
  readonly slackMs: number;
  /** Addresses whose failures are counted, and as many whose budget is spent. Default 100,000. */
  readonly maxAddresses: number;
}

/** How not-before marks are kept. */
export interface MarkOptions {
  /** Subjects with a mark of their own. Default 100,000. */
  readonly maxSubjects: number;
  /** A subject's mark is kept at least so long after the moment it names. Default 24 h. */
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
