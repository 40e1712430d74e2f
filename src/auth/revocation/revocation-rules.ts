import { type Clock, digestOf, RecentMap } from '../../core/index.ts';
import type { RevocationOptions } from '../options.ts';
import { dateClaim, type Jwt, textClaim } from '../token/index.ts';

/** The rules of the configuration. */
export interface RevocationRules {
  /** Tokens issued before it are refused; seconds since the epoch, 0: none. A push does not lower it. */
  readonly notBeforeS: number;
  /** A token is accepted this much longer than it lives. */
  readonly leewayS: number;
  /** The longest accepted lifetime of a token; `null` to learn it from the tokens seen. */
  readonly maxLifetimeS: number | null;
}

/** Shares revocations with other gateways. */
export interface RevocationSharing {
  /** Hands the others what this gateway learns. */
  announce(revocation: AnonymousRevocation): void;
  /** Withdraws an evicted revocation from gateways that start later. They learn the mark that replaces it, announced before. */
  withdraw(revocation: Pick<AnonymousRevocation, 'kind' | 'issuer' | 'whom' | 'value'>): void;
}

export interface IssuerRevocationsDependencies {
  readonly clock: Clock;
  readonly others: RevocationSharing;
  /** Called when a revocation was evicted because a table was full. */
  readonly onEvicted: () => void;
  /** Returns a number that no issuer has had before. */
  readonly nextVersion: () => number;
}

/** The properties of a token by which it can be revoked. */
export interface Revocable {
  /** The claim `iat`. */
  readonly issuedAtS: number;
  /** The digest of `sub`, or `null`. */
  readonly subject: string | null;
  /** The digest of `sid`. A token without one counts as a session of its own, identified by its `jti` or its signed text. */
  readonly session: string;
}

/** The subject of all tokens that have none. */
export const NO_SUBJECT = '';

/** The properties of a token by which it can be revoked. Its claims need not be verified yet. */
export function revocableOf({ claims, signingInput }: Pick<Jwt, 'claims' | 'signingInput'>): Revocable {
  const subject = textClaim(claims, 'sub');
  const sid = textClaim(claims, 'sid');
  return {
    issuedAtS: dateClaim(claims, 'iat') ?? 0,
    subject: subject === null ? null : digestOf(subject),
    session: sid === null ? tokenDigest(textClaim(claims, 'jti'), signingInput) : sessionDigest(sid),
  };
}

/** The digest by which the tokens of a session are revoked. */
export function sessionDigest(sid: string): string {
  return digestOf(`sid ${sid}`);
}

/** Digests a token without its signature: the holder of an ECDSA token can write that in a second valid form. */
function tokenDigest(jti: string | null, signingInput: string): string {
  return digestOf(jti === null ? `jws ${signingInput}` : `jti ${jti}`);
}

interface Count {
  readonly sinceS: number;
  sessions: number;
}

/** Counts the sessions that each subject has ended here within the time for which they are remembered. */
export class SessionCounts {
  readonly #counts: RecentMap<Count>;
  readonly #max: number;

  constructor({ maxEntries, maxSessionsOfOne }: RevocationOptions) {
    this.#counts = new RecentMap(maxEntries);
    this.#max = maxSessionsOfOne;
  }

  /**
   * Counts one more ended session. Returns false if there are too many.
   *
   * @param subject its digest
   */
  take(subject: string, nowS: number, keepS: number): boolean {
    const known = this.#counts.get(subject);
    const count = known !== undefined && nowS - known.sinceS < keepS ? known : { sinceS: nowS, sessions: 0 };
    count.sessions += 1;
    this.#counts.set(subject, count);
    return count.sessions <= this.#max;
  }
}

/** What the status page shows. */
export interface RevocationFacts {
  /** Tokens issued before it are refused; seconds since the epoch, 0: none. */
  readonly notBeforeS: number;
  /** The not-before time that the provider pushed last; `null` if none. */
  readonly pushedS: number | null;
  readonly subjects: number;
  readonly sessions: number;
  readonly keptForS: number;
  /** Where `keptForS` comes from. */
  readonly keptBy: 'configuration' | 'longest token seen' | 'default';
}

/** A revocation as other gateways receive it, without names of users. */
export interface AnonymousRevocation {
  readonly kind: RevocationKind;
  /** The digest of the issuer. */
  readonly issuer: string;
  /** The digest of the subject or session; of a push, its mark in decimal; else empty. */
  readonly whom: string;
  /** A whole number: seconds since the epoch, the order of a push, or the seconds of a lifetime. The larger one wins. */
  readonly value: number;
  /** How long a token that it refuses may still live, in milliseconds. */
  readonly forMs: number;
}

export const REVOCATION_KINDS = [
  /** Refuses the subject's tokens issued before `value`. */
  'subject',
  /** Refuses the same, as learnt with a redeemed code: the mark may be the one for everyone. */
  'policy',
  /** Refuses the session's tokens issued before `value`. */
  'session',
  /** Refuses every token issued before `whom`, until a push of a higher order says otherwise. */
  'push',
  /** Refuses every token issued before `value`, because older revocations were evicted. */
  'everyone',
  /** Says that tokens live up to `value` seconds. */
  'lifetime',
] as const;

type RevocationKind = (typeof REVOCATION_KINDS)[number];
