import { type Clock, digestOf, RecentMap } from '../../core/index.ts';
import type { RevocationOptions } from '../options.ts';
import { dateClaim, type Jwt, textClaim } from '../token/index.ts';
import type { AnonymousRevocation } from './anonymous-revocation.ts';

/** What the configuration says. */
export interface RevocationRules {
  /** Tokens issued before it are refused; seconds since the epoch, 0: none. A push does not lower it. */
  readonly notBeforeS: number;
  /** A token is accepted this much longer than it lives. */
  readonly leewayS: number;
  /** No token that lives longer is accepted; null: learnt from the tokens seen. */
  readonly maxLifetimeS: number | null;
}

/** Other gateways. */
export interface RevocationSharing {
  /** Hands them what is learnt here. */
  announce(revocation: AnonymousRevocation): void;
  /** Spares those that start later what was evicted here. They learn instead what refuses at least as much, announced before. */
  withdraw(revocation: Pick<AnonymousRevocation, 'kind' | 'issuer' | 'whom' | 'value'>): void;
}

export interface IssuerRevocationsDependencies {
  readonly clock: Clock;
  readonly others: RevocationSharing;
  /** A revocation was evicted because a table was full. */
  readonly onEvicted: () => void;
  /** Returns a number that no issuer has had before. */
  readonly nextVersion: () => number;
}

/** What a token can be revoked by. */
export interface Revocable {
  /** `iat`. */
  readonly issuedAtS: number;
  /** The digest of `sub`; null: the token has none. */
  readonly subject: string | null;
  /** The digest of its session, `sid`. A token without one is a session of its own: that of its `jti`, or of what was signed. */
  readonly session: string;
}

/** The subject of all tokens that have none. */
export const NO_SUBJECT = '';

/** Reads claims that may be unverified. */
export function revocableOf({ claims, signingInput }: Pick<Jwt, 'claims' | 'signingInput'>): Revocable {
  const subject = textClaim(claims, 'sub');
  const sid = textClaim(claims, 'sid');
  return {
    issuedAtS: dateClaim(claims, 'iat') ?? 0,
    subject: subject === null ? null : digestOf(subject),
    session: sid === null ? tokenDigest(textClaim(claims, 'jti'), signingInput) : sessionDigest(sid),
  };
}

/** What the tokens of a session are revoked by. */
export function sessionDigest(sid: string): string {
  return digestOf(`sid ${sid}`);
}

/** Leaves out the signature: the holder of an ECDSA token can write it in a second valid form. */
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
   * Counts one more; false when there are too many.
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
