import type * as core from '../../core/index.ts';
import { errorText } from '../../core/index.ts';
import type { Logger } from './logging.ts';
import { OncePerMinute } from './once-per-minute.ts';
import { Outbreak } from './outbreak.ts';

/** Maximum flawed keys logged when they first appear in a key set, which may have hundreds; the rest are counted. */
const MAX_LOGGED = 10;

/** What to change where tokens are refused for a reason, as far as one key decides. */
const KEYS_TO_CHANGE: Partial<Readonly<Record<core.InvalidReason, string>>> = {
  malformed:
    'the provider issues no JWT: ask it for tokens for an API, with its audience, or set access_tokens.opaque_tokens',
  too_long: 'access_tokens.max_length',
  issuer: 'identity_provider.issuer',
  audience: 'access_tokens.audience',
  claim: 'access_tokens.principal',
  lifetime: 'access_tokens.max_lifetime',
  token_kind: 'access_tokens.audience',
  not_before: 'access_tokens.not_before',
  not_yet_valid: 'access_tokens.leeway',
  algorithm: 'the algorithm that the provider signs access tokens with',
};

/**
 * Logs what operators need to know about the provider: changes of its state rather than every attempt, and mistakes on our
 * side. Refused tokens and codes are everyday events: metrics count them and the access log gives the reason.
 */
export class IdentityLog implements Partial<core.AuthListener & core.SignInListener> {
  readonly #log: Logger;
  /** Anyone can send tokens without a required claim. */
  readonly #lacking: OncePerMinute;
  /** There is an attempt for each user who signs in. */
  readonly #outbreak: Outbreak;
  readonly #of: { readonly provider?: string };
  #keySetFails = false;
  #discoveryFails = false;
  #introspectionFails = false;
  /** Why the last access token that a client got will be refused; `null` if it will not. */
  #refusedNew: core.InvalidReason | null = null;
  #keys = -1;
  #flawed: ReadonlySet<string> = new Set();

  /** @param provider the provider's name, added to each line; null if it is the only one */
  constructor(log: Logger, clock: core.Clock, provider: string | null = null) {
    this.#log = log;
    this.#lacking = new OncePerMinute(clock);
    this.#outbreak = new Outbreak(clock);
    this.#of = provider === null ? {} : { provider };
  }

  /** A missing claim usually means a mistake in the provider's or our configuration. */
  tokenRefused(reason: string, claim: string | null): void {
    if (claim === null) return;
    const tokens = this.#lacking.count(claim);
    if (tokens > 0)
      this.#log.warn({ type: 'token', ...this.#of, reason, claim, tokens }, 'tokens lack a required claim');
  }

  keySetLoaded(usable: number, unusable: number, flawed: readonly core.FlawedKey[]): void {
    this.#warnOf(flawed);
    if (usable === this.#keys && !this.#keySetFails) return;
    this.#keys = usable;
    this.#keySetFails = false;
    this.#log.info({ type: 'provider', ...this.#of, usable, unusable }, "loaded the issuer's keys");
  }

  /** Warns once per key, as long as the issuer publishes it. */
  #warnOf(flawed: readonly core.FlawedKey[]): void {
    const current = new Map(flawed.map(key => [JSON.stringify(key), key]));
    const fresh = [...current].filter(([id]) => !this.#flawed.has(id)).map(([, key]) => key);
    const line = { type: 'provider', ...this.#of };
    for (const { keyId, flaw } of fresh.slice(0, MAX_LOGGED)) {
      const message = 'a key of the issuer is unusable: signatures made with it are refused';
      this.#log.warn({ ...line, keyId, flaw }, message);
    }
    const more = fresh.length - MAX_LOGGED;
    if (more > 0) this.#log.warn({ ...line, keys: more }, `${more} more keys of the issuer are unusable`);
    this.#flawed = new Set(current.keys());
  }

  keySetFailed(cause: unknown): void {
    if (!this.#keySetFails) {
      this.#log.warn(
        { type: 'provider', ...this.#of, cause: textOf(cause) },
        "cannot fetch the issuer's keys; the current ones stay in use",
      );
    }
    this.#keySetFails = true;
  }

  redeemed(event: core.RedeemEvent): void {
    if (event.grant === 'code') this.#attempted('sign-in', 'a sign-in', event);
    else this.#attempted('refresh', 'a refresh of tokens', event);
  }

  /** Warns once, until a token is good again: without this, clients sign in, get 401, and sign in again, and nobody knows why. */
  tokenHandedOut(refusal: Parameters<core.SignInListener['tokenHandedOut']>[0]): void {
    const reason = refusal?.reason ?? null;
    if (reason !== null && this.#refusedNew !== reason)
      this.#log.warn(
        {
          type: 'sign-in',
          ...this.#of,
          reason,
          claim: refusal?.claim ?? undefined,
          change: KEYS_TO_CHANGE[reason],
        },
        'clients get access tokens from the provider that this gateway refuses',
      );
    this.#refusedNew = reason;
  }

  signedOut(event: core.SignOutEvent): void {
    this.#attempted('sign-out', 'a sign-out at the provider', event);
  }

  /** There may be many per second: only the first of a series of failures is logged, and its end. */
  introspected({ outcome, error }: core.IntrospectionEvent): void {
    const of = { type: 'introspection', ...this.#of };
    if (error === null) {
      if (this.#introspectionFails)
        this.#log.info(of, 'the provider says again whether tokens are still valid');
      this.#introspectionFails = false;
    } else if (!this.#introspectionFails)
      // A failure without a line is not yet the first of a series.
      this.#introspectionFails = this.#attempted('introspection', 'asking whether a token is still valid', {
        outcome,
        error,
      });
  }

  discovered({ outcome, ready, cause }: core.DiscoveryEvent): void {
    if (outcome === 'failed' && !this.#discoveryFails) {
      this.#log.warn(
        { type: 'provider', ...this.#of, ready, cause: textOf(cause) },
        "cannot discover the provider's endpoints; retrying",
      );
    } else if (outcome === 'learnt' || (outcome === 'confirmed' && this.#discoveryFails)) {
      this.#log.info({ type: 'provider', ...this.#of }, "discovered the provider's endpoints");
    }
    this.#discoveryFails = outcome === 'failed';
  }

  /** Returns whether the failure has a line in the log. */
  #attempted(
    type: string,
    what: string,
    {
      outcome,
      error,
    }: Pick<core.RedeemEvent | core.SignOutEvent | core.IntrospectionEvent, 'outcome' | 'error'>,
  ): boolean {
    if (error === null || error.side === 'client') return false;
    const cause = textOf(error.cause);
    const failures = this.#outbreak.count(type, outcome, cause);
    if (failures === 0) return false;
    const line = { type, ...this.#of, outcome, failures, cause };
    if (outcome === 'gateway_refused' || outcome === 'fault')
      this.#log.error(line, `${what} failed because of this gateway or its configuration`);
    else
      this.#log.warn(
        line,
        `${what} failed because the provider could not be asked or did not answer properly`,
      );
    return true;
  }
}

function textOf(cause: unknown): string | null {
  return cause === null || cause === undefined ? null : errorText(cause);
}

/** Logs providers' notices. A logout is an everyday event, which metrics count. */
export function noticeLog(log: Logger, clock: core.Clock): core.NoticeListener {
  /** Anyone who reaches the endpoint can cause these lines. */
  const counts = new OncePerMinute(clock);
  const logBad = ({ kind, outcome, flaw, claim }: core.NoticeEvent) => {
    const notices = counts.count(`${kind} ${outcome} ${flaw} ${claim}`);
    if (notices === 0) return;
    const why = { reason: flaw ?? undefined, claim: claim ?? undefined };
    const line = { type: 'notice', notice: kind, outcome, ...why, notices };
    log.warn(line, 'a request that claims to be a notification of the provider was ignored');
  };
  const logIdle = (line: object) => {
    const notices = counts.count('reached_none');
    if (notices > 0)
      log.warn(
        { ...line, outcome: 'reached_none', notices },
        'a logout ended no token: it names a session (sid) alone, and access tokens of the provider have no sid. Have it send sub as well, or add sid to access tokens',
      );
  };
  return {
    noticeReceived(event) {
      const { kind, outcome, notBeforeS } = event;
      const line = { type: 'notice', notice: kind };
      if (outcome === 'reached_none') logIdle(line);
      else if (outcome !== 'accepted') logBad(event);
      else if (notBeforeS === 0)
        log.warn(line, 'the provider withdrew its not-before mark: it no longer refuses older tokens');
      else if (notBeforeS !== null) {
        const notBefore = new Date(notBeforeS * 1_000).toISOString();
        log.warn({ ...line, notBefore }, 'the provider moved the not-before mark: older tokens are refused');
      }
    },
  };
}
