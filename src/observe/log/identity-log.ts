import type * as core from '../../core/index.ts';
import { errorText, traitsOf } from '../../core/index.ts';
import type { Logger } from './logging.ts';
import { OncePerInterval, oncePerSecond } from './once-per-interval.ts';

/** Maximum flawed keys logged when they first appear in a key set, which may have hundreds; the rest are counted. */
const MAX_LOGGED = 10;

/** Required claims that no key of the configuration names. */
const NEEDED: ReadonlySet<string | undefined> = new Set(['iss', 'exp', 'iat', 'nbf']);

function toChange(reason: core.InvalidReason, claim: string | undefined): string | undefined {
  return NEEDED.has(claim)
    ? 'the claims that the provider writes into access tokens'
    : traitsOf(reason).change;
}

/**
 * Logs what operators need to know about the provider: changes of its state rather than every attempt, and mistakes on our
 * side. Refused tokens and codes are everyday events: metrics count them and the access log gives the reason.
 *
 * @param provider the provider's name, added to each line; null if it is the only one
 */
export function identityLog(log: Logger, clock: core.Clock, provider: string | null = null) {
  const of = provider === null ? {} : { provider };
  const aboutProvider = { type: 'provider', ...of };
  /** Anyone can send tokens without a required claim. */
  const lacking = new OncePerInterval(clock);
  /** There is an attempt for each user who signs in. */
  const outbreak = oncePerSecond(clock);
  let keySetFails = false;
  let discoveryFails = false;
  let introspectionFails = false;
  /** Why the last access token that a client got will be refused, with the claim; `null` if it will not. */
  let refusedNew: string | null = null;
  let keys = -1;
  let flawedBefore: ReadonlySet<string> = new Set();
  /** Warns once per key, as long as the issuer publishes it. */
  const warnOf = (flawed: readonly core.FlawedKey[]) => {
    const current = new Map(flawed.map(key => [JSON.stringify(key), key]));
    const fresh = [...current].filter(([id]) => !flawedBefore.has(id)).map(([, key]) => key);
    for (const { keyId, flaw } of fresh.slice(0, MAX_LOGGED)) {
      const message = 'a key of the issuer is unusable: signatures made with it are refused';
      log.warn({ ...aboutProvider, keyId, flaw }, message);
    }
    const more = fresh.length - MAX_LOGGED;
    if (more > 0) log.warn({ ...aboutProvider, keys: more }, `${more} more keys of the issuer are unusable`);
    flawedBefore = new Set(current.keys());
  };
  /** Returns whether the failure has a line in the log. */
  const attempted = (type: string, what: string, { outcome, error }: Attempt): boolean => {
    if (error === null || error.side === 'client') return false;
    const cause = textOf(error.cause);
    const failures = outbreak.count(`${type} ${outcome} ${cause}`);
    if (failures === 0) return false;
    const line = { type, ...of, outcome, failures, cause };
    if (outcome === 'gateway_refused' || outcome === 'fault')
      log.error(line, `${what} failed because of this gateway or its configuration`);
    else log.warn(line, `${what} failed because the provider could not be asked or did not answer properly`);
    return true;
  };
  return {
    /** A missing claim usually means a mistake in the provider's or our configuration. */
    tokenRefused(reason, claim) {
      if (claim === null) return;
      const tokens = lacking.count(claim);
      if (tokens > 0)
        log.warn({ type: 'token', ...of, reason, claim, tokens }, 'tokens lack a required claim');
    },
    keySetLoaded(usable, unusable, flawed) {
      warnOf(flawed);
      if (usable === keys && !keySetFails) return;
      keys = usable;
      keySetFails = false;
      log.info({ ...aboutProvider, usable, unusable }, "loaded the issuer's keys");
    },
    keySetFailed(cause) {
      if (!keySetFails)
        log.warn(
          { ...aboutProvider, cause: textOf(cause) },
          "cannot fetch the issuer's keys; the current ones stay in use",
        );
      keySetFails = true;
    },
    redeemed(event) {
      if (event.grant === 'code') attempted('sign-in', 'a sign-in', event);
      else attempted('refresh', 'a refresh of tokens', event);
    },
    /**
     * Warns once, until a token is good again. Without this line, clients would sign in, get 401 and sign in again, for no visible
     * reason.
     */
    tokenHandedOut(refusal) {
      const reason = refusal?.reason ?? null;
      const claim = refusal?.claim ?? undefined;
      const why = reason === null ? null : `${reason} ${claim}`;
      if (reason !== null && refusedNew !== why)
        log.warn(
          { type: 'sign-in', ...of, reason, claim, change: toChange(reason, claim) },
          'clients get access tokens from the provider that this gateway refuses',
        );
      refusedNew = why;
    },
    signedOut: event => attempted('sign-out', 'a sign-out at the provider', event),
    /** There may be many per second: only the first of a series of failures is logged, and its end. */
    introspected(event) {
      if (event.error === null) {
        if (introspectionFails)
          log.info(
            { type: 'introspection', ...of },
            'the provider says again whether tokens are still valid',
          );
        introspectionFails = false;
      } else if (!introspectionFails)
        // A failure without a line is not yet the first of a series.
        introspectionFails = attempted('introspection', 'asking whether a token is still valid', event);
    },
    discovered({ outcome, ready, cause }) {
      if (outcome === 'failed' && !discoveryFails)
        log.warn(
          { ...aboutProvider, ready, cause: textOf(cause) },
          "cannot discover the provider's endpoints; retrying",
        );
      else if (outcome === 'learnt' || (outcome === 'confirmed' && discoveryFails))
        log.info(aboutProvider, "discovered the provider's endpoints");
      discoveryFails = outcome === 'failed';
    },
  } satisfies Partial<core.AuthListener & core.SignInListener>;
}

type Attempt = Pick<core.RedeemEvent | core.SignOutEvent | core.IntrospectionEvent, 'outcome' | 'error'>;

function textOf(cause: unknown): string | null {
  return cause === null || cause === undefined ? null : errorText(cause);
}

/** Logs providers' notices. A logout is an everyday event, which metrics count. */
export function noticeLog(log: Logger, clock: core.Clock): core.NoticeListener {
  /** Anyone who reaches the endpoint can cause these lines. */
  const counts = new OncePerInterval(clock);
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
