import { type Clock, digestOf, ofTenant, RecentMap } from '../../core/index.ts';
import type { RevocationOptions } from './options.ts';
import { dateClaim, type Jwt, textClaim } from './token/index.ts';

export interface RevocationRules {
  /** Tokens issued earlier are refused; seconds since the epoch, 0 for none. A push does not lower it. */
  readonly notBeforeS: number;
  /** How much longer than its lifetime a token is accepted. */
  readonly leewayS: number;
  /** The longest accepted lifetime of a token; `null` to derive it from the tokens seen. */
  readonly maxLifetimeS: number | null;
}

export interface RevocationSharing {
  /** Passes on to the others what this gateway learns. */
  announce(revocation: AnonymousRevocation): void;
  /**
   * Withdraws an evicted revocation from gateways that start later. They learn the mark that replaces it, which was announced
   * before.
   */
  withdraw(revocation: Pick<AnonymousRevocation, 'kind' | 'issuer' | 'whom' | 'value'>): void;
}

export interface IssuerRevocationsDependencies {
  readonly clock: Clock;
  readonly others: RevocationSharing;
  /** Called when a revocation was evicted because a table was full. */
  readonly onEvicted: () => void;
  /** Returns a version that no issuer had before. */
  readonly nextVersion: () => number;
}

/** The properties of a token by which it can be revoked. */
export interface Revocable {
  /** The claim `iat`. */
  readonly issuedAtS: number;
  /** The digest of `sub`, or `null`. */
  readonly subject: string | null;
  /** The digest of `sid`. A token without one counts as its own session, identified by its `jti` or its signed text. */
  readonly session: string;
  /**
   * The digest by which all tokens of its subject without `sid` are revoked together; `null` if this one has a `sid`, or no `sub`.
   * A logout names a session, and any token without `sid` may belong to it.
   */
  readonly unnamedSessions: string | null;
}

/** Represents the subject of tokens that have none. */
export const NO_SUBJECT = '';

/**
 * The properties of a token by which it can be revoked. Its claims need not be verified yet.
 *
 * @param tenant the issuer that its names belong to; `null` for a provider without tenants
 */
export function revocableOf(
  { claims, signingInput }: Pick<Jwt, 'claims' | 'signingInput'>,
  tenant: string | null = null,
): Revocable {
  const subject = textClaim(claims, 'sub');
  const sid = textClaim(claims, 'sid');
  const jti = textClaim(claims, 'jti');
  const own = (name: string) => ofTenant(tenant, name);
  return {
    issuedAtS: dateClaim(claims, 'iat') ?? 0,
    subject: subject === null ? null : digestOf(own(subject)),
    session:
      sid === null ? tokenDigest(jti === null ? null : own(jti), signingInput) : sessionDigest(own(sid)),
    unnamedSessions: sid === null && subject !== null ? unnamedSessionsDigest(own(subject)) : null,
  };
}

/** The digest by which the tokens of a subject without `sid` are revoked. */
export function unnamedSessionsDigest(subject: string): string {
  return digestOf(`sub ${subject}`);
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

/** Counts the sessions that were ended here, for each subject, as long as these are remembered. */
export class SessionCounts {
  readonly #counts: RecentMap<Count>;
  readonly #max: number;

  constructor({ maxEntries, maxSessionsOfOne }: RevocationOptions) {
    this.#counts = new RecentMap(maxEntries);
    this.#max = maxSessionsOfOne;
  }

  /**
   * Counts another ended session. Returns false if there are too many.
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
  /** Tokens issued earlier are refused; seconds since the epoch, 0 for none. */
  readonly notBeforeS: number;
  /** The not-before time that the provider last pushed; `null` if none. */
  readonly pushedS: number | null;
  readonly subjects: number;
  readonly sessions: number;
  readonly keptForS: number;
  /** Where `keptForS` comes from. */
  readonly keptBy: 'configuration' | 'longest token seen' | 'default';
}

/** A revocation as other gateways receive it, without users' names. */
export interface AnonymousRevocation {
  readonly kind: RevocationKind;
  readonly issuer: string;
  /** The digest of the subject or session; for a push, its mark in decimal; for `seen`, a word; else empty. */
  readonly whom: string;
  /** A whole number: seconds since the epoch, the order of a push, or the seconds of a lifetime. The larger one wins. */
  readonly value: number;
  /** How long a token that it refuses may remain valid, in milliseconds. */
  readonly forMs: number;
}

export const REVOCATION_KINDS = [
  /** Refuses the subject's tokens issued before `value`. */
  'subject',
  /** The same as `subject`, but learnt with a redeemed code: the mark may be intended for everyone. */
  'policy',
  /** Refuses the session's tokens issued before `value`. */
  'session',
  /** Refuses every token issued before `whom`, until superseded by a push of a higher order. */
  'push',
  /** Refuses every token issued before `value`, because older revocations were evicted. */
  'everyone',
  /** Announces that tokens live up to `value` seconds. */
  'lifetime',
  /** Announces that tokens with a `sid` (`whom` is `sid`), or without one (`none`), were in use at `value`. */
  'seen',
] as const;

type RevocationKind = (typeof REVOCATION_KINDS)[number];

/**
 * A bounded table of marks (times) by digest. Drops the oldest marks first: as soon as all tokens they refuse have expired, or
 * earlier if the table is full. Reports the latter.
 */
export class MarkTable {
  readonly #marks = new Map<string, number>();
  readonly #maxEntries: number;
  readonly #onEvicted: (digest: string, markS: number) => void;

  /** @param onEvicted called with a mark that was dropped although it was still needed */
  constructor(maxEntries: number, onEvicted: (digest: string, markS: number) => void) {
    this.#maxEntries = maxEntries;
    this.#onEvicted = onEvicted;
  }

  get size(): number {
    return this.#marks.size;
  }

  /** The mark in seconds since the epoch; 0 if there is none. */
  markOf(digest: string): number {
    return this.#marks.size === 0 ? 0 : (this.#marks.get(digest) ?? 0);
  }

  /**
   * Sets a mark unless there is one at least as high.
   *
   * @param overS marks up to this one are obsolete @returns whether it changed
   */
  raise(digest: string, markS: number, overS: number): boolean {
    if (!(markS > this.markOf(digest) && markS > overS)) return false;
    this.#marks.delete(digest);
    makeRoom(this.#marks, this.#maxEntries, mark => mark <= overS, this.#onEvicted);
    this.#marks.set(digest, markS);
    return true;
  }

  entries(): IterableIterator<[digest: string, markS: number]> {
    return this.#marks.entries();
  }
}

/**
 * Makes room for one more entry in a map whose oldest entries expire first: drops the expired ones from the front and, when that is
 * not enough, the oldest.
 *
 * @param evicted called with each entry that was dropped before it expired
 */
export function makeRoom<V>(
  entries: Map<string, V>,
  maxEntries: number,
  isOver: (value: V) => boolean,
  evicted: (key: string, value: V) => void = () => {},
): void {
  for (const [key, value] of entries) {
    const over = isOver(value);
    if (!over && entries.size < maxEntries) return;
    entries.delete(key);
    if (!over) evicted(key, value);
  }
}

/** A not-before mark that the provider pushed. */
export interface Pushed {
  /** Seconds since the epoch; 0 withdraws the mark. */
  readonly markS: number;
  /** The push with the highest order counts; with equal orders, the higher mark. */
  readonly order: number;
}

/** More pushes than anyone sends within the lifetime of a token. */
const MAX_SUPERSEDED = 100;

/** Holds the newest push, which may have lowered the mark. */
export class PushedMark {
  #newest: (Pushed & { readonly untilMs: number }) | null = null;
  /** The marks of older pushes. */
  readonly #superseded = new Set<number>();

  get newest(): Pushed | null {
    return this.#newest;
  }

  /** How long gateways that start later must learn of the push, since the epoch. */
  get untilMs(): number {
    return this.#newest?.untilMs ?? 0;
  }

  /**
   * Takes a push, unless a newer one is known. Keeps it longer than the previous one, which would otherwise take effect again at
   * gateways that start later.
   */
  take({ markS, order }: Pushed, untilMs: number): boolean {
    const before = this.#newest;
    if (before !== null) {
      const isOlder = order < before.order || (order === before.order && markS <= before.markS);
      this.#supersede(isOlder ? markS : before.markS);
      if (isOlder) return false;
    }
    this.#newest = { markS, order, untilMs: Math.max(untilMs, this.untilMs + 1_000) };
    return true;
  }

  /** Whether the provider pushed this mark for everyone and later withdrew it. */
  hasTakenBack(markS: number): boolean {
    return this.#newest !== null && markS > this.#newest.markS && this.#superseded.has(markS);
  }

  #supersede(markS: number): void {
    this.#superseded.delete(markS);
    this.#superseded.add(markS);
    const [oldest] = this.#superseded;
    if (this.#superseded.size > MAX_SUPERSEDED && oldest !== undefined) this.#superseded.delete(oldest);
  }
}
