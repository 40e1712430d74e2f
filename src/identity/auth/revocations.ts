import { type Clock, digestOf, type RevocationReason } from '../../core/index.ts';
import type { RevocationOptions } from './options.ts';
import type {
  AnonymousRevocation,
  IssuerRevocationsDependencies,
  Pushed,
  Revocable,
  RevocationFacts,
  RevocationRules,
  RevocationSharing,
} from './revocation-rules.ts';
import {
  MarkTable,
  NO_SUBJECT,
  PushedMark,
  SessionCounts,
  unnamedSessionsDigest,
} from './revocation-rules.ts';

const HOUR_S = 3_600;

const MARK_KINDS = ['subject', 'policy', 'session'] as const;
type MarkKind = (typeof MARK_KINDS)[number];

/**
 * Which tokens of an issuer are revoked: those issued before the mark for everyone or for their subject (one issued in the same
 * second passes, as at the provider), and those of ended sessions. A revocation is kept as long as a token that it refuses can
 * live. When a full table drops one, everything as old is refused: nothing revoked is ever accepted again.
 */
export class IssuerRevocations {
  readonly #issuer: string;
  readonly #options: RevocationOptions;
  readonly #dependencies: IssuerRevocationsDependencies;
  readonly #tables: Readonly<Record<MarkKind, MarkTable>>;
  readonly #sessionCounts: SessionCounts;
  readonly #pushed = new PushedMark();
  #rules: RevocationRules = { notBeforeS: 0, leewayS: 0, maxLifetimeS: null };
  /** The highest mark of an evicted revocation. */
  #floorS = 0;
  /** The mark for everyone: the highest of the configured, pushed and evicted ones. */
  #everyoneS = 0;
  #longestS = 0;
  /** When tokens with a `sid`, and without one, were last in use: seconds since the epoch, rounded down to hours; 0 for never. */
  readonly #seenS = { sid: 0, none: 0 };
  /** Changes whenever a token that has passed may now be refused. No two issuers have the same version. */
  #version: number;

  /** @param issuer the digest of the issuer's name */
  constructor(issuer: string, options: RevocationOptions, dependencies: IssuerRevocationsDependencies) {
    this.#issuer = issuer;
    this.#options = options;
    this.#dependencies = dependencies;
    this.#version = dependencies.nextVersion();
    const table = (kind: MarkKind) =>
      new MarkTable(options.maxEntries, (digest, markS) => this.#evicted(kind, digest, markS));
    this.#tables = { subject: table('subject'), policy: table('policy'), session: table('session') };
    this.#sessionCounts = new SessionCounts(options);
  }

  get facts(): RevocationFacts {
    const { maxLifetimeS } = this.#rules;
    const { subject, policy, session } = this.#tables;
    const isLearnt = this.#longestS > this.#options.keepS;
    return {
      notBeforeS: this.#everyoneS,
      pushedS: this.#pushed.newest?.markS ?? null,
      subjects: subject.size + policy.size,
      sessions: session.size,
      keptForS: this.#keepS,
      keptBy: maxLifetimeS !== null ? 'configuration' : isLearnt ? 'longest token seen' : 'default',
    };
  }

  /** Why this token is refused; `null` if it is not revoked. */
  refusal({ issuedAtS, subject, session, unnamedSessions }: Revocable): RevocationReason | null {
    if (issuedAtS < this.#everyoneS) return 'not_before';
    if (issuedAtS < this.#markOf(subject ?? NO_SUBJECT)) return 'not_before';
    const ended = this.#tables.session;
    const endedS = ended.markOf(session);
    // A token without `sid` is a session of its own, which can have no later token. An opaque one may have no `iat` to compare.
    const isOwn = endedS > 0 && unnamedSessions !== null;
    if (isOwn || issuedAtS < endedS) return 'signed_out';
    return unnamedSessions !== null && issuedAtS < ended.markOf(unnamedSessions) ? 'signed_out' : null;
  }

  /** As `refusal`, for a caller whose token passed before: checks again only if something was revoked since. */
  refusalOf(caller: Revocable & { passedVersion: number }): RevocationReason | null {
    if (caller.passedVersion === this.#version) return null;
    const reason = this.refusal(caller);
    if (reason === null) caller.passedVersion = this.#version;
    return reason;
  }

  use(rules: RevocationRules): void {
    const keptS = this.#keepS;
    const { maxLifetimeS } = this.#rules;
    this.#rules = rules;
    const isLonger = maxLifetimeS !== null && this.#keepS > keptS;
    // A longer limit makes older tokens valid whose revocations may already be forgotten.
    if (isLonger) this.#floorS = Math.max(this.#floorS, Math.floor(this.#nowS - keptS));
    this.#changed();
    if (isLonger) this.#announceAll(this.running());
  }

  /** Records the lifetime of a verified token, rounded up to whole hours so that it rarely changes. */
  observeLife(lifeS: number): void {
    if (lifeS > this.#longestS && lifeS > this.#options.keepS)
      this.#lengthen(Math.ceil(lifeS / HOUR_S) * HOUR_S);
  }

  /** Records that a verified token has a `sid` or none, once an hour, so that all gateways know which logouts can end tokens. */
  observeSession({ unnamedSessions }: Pick<Revocable, 'unnamedSessions'>): void {
    const kind = unnamedSessions === null ? 'sid' : 'none';
    const nowS = this.#nowS - (this.#nowS % HOUR_S);
    if (nowS <= this.#seenS[kind]) return;
    this.#seenS[kind] = nowS;
    this.#announceAll(this.#seen());
  }

  /** Whether tokens without `sid` are in use, and none with one: then the end of a session by its `sid` alone ends no token. */
  get namesNoSessions(): boolean {
    const sinceS = this.#nowS - this.#keepS - HOUR_S;
    return this.#seenS.none > sinceS && this.#seenS.sid <= sinceS;
  }

  /**
   * Refuses the subject's tokens issued before this time. 0 means none; never lowers a mark, since a late response must not lower
   * a newer one.
   */
  revokeSubject(subject: string, beforeS: number): void {
    this.#learn('subject', digestOf(subject), beforeS);
  }

  /**
   * Refuses the tokens of a session that were issued until now. Later ones pass: a browser that is still signed in at the
   * provider gets new tokens of the same session, and whether a refresh token still works is for the provider to decide (OpenID
   * Connect Back-Channel Logout 1.0, 2.7).
   *
   * @param session as in `Revocable`
   * @param untilS a lower bound of the provider's time, in seconds since the epoch, such as the `iat` of a valid token: the
   *   provider's clock may be ahead
   * @param subject the subject's digest, or `NO_SUBJECT`; one that ends too many sessions loses all of them, so that it cannot
   *   fill the table at the expense of others. `null` if the provider ended the session, which is not counted
   */
  endSession(session: string, untilS = 0, subject: string | null = null): void {
    const endedS = Math.floor(Math.max(this.#nowS, untilS)) + 1;
    const counts = subject !== null && this.#tables.session.markOf(session) === 0;
    if (counts && !this.#sessionCounts.take(subject, this.#nowS, this.#keepS))
      this.#learn('subject', subject, endedS);
    else this.#learn('session', session, endedS);
  }

  /** Refuses the subject's tokens without `sid` that were issued until now, as `endSession` does with those of a session. */
  endUnnamedSessions(subject: string, untilS: number): void {
    this.endSession(unnamedSessionsDigest(subject), untilS);
  }

  /**
   * Adds the mark received with a redeemed code: 0 means none. The provider sends the largest of several marks. It may be the
   * subject's own, so it applies to this subject only. It may be the one for everyone, so it ends when a push withdraws that.
   */
  learnPolicy(subject: string, markS: number): void {
    this.#learn('policy', digestOf(subject), markS);
  }

  /** Applies a push from the provider, unless a newer one is known. May lower the mark. */
  push(pushed: Pushed): 'applied' | 'outdated' {
    if (!this.#takePush(pushed, 0)) return 'outdated';
    this.#announceAll(this.#push());
    return 'applied';
  }

  /** Applies what another gateway learnt. */
  adopt({ kind, whom, value, forMs }: AnonymousRevocation): void {
    switch (kind) {
      case 'subject':
      case 'policy':
      case 'session':
        this.#raise(kind, whom, value);
        return;
      case 'push':
        this.#adoptPush({ markS: Number(whom), order: value }, forMs);
        return;
      case 'everyone':
        this.#raiseFloor(value);
        return;
      case 'lifetime':
        if (value > this.#longestS) this.#longestS = value;
        return;
      case 'seen':
        if (whom === 'sid' || whom === 'none') this.#seenS[whom] = Math.max(this.#seenS[whom], value);
    }
  }

  /** Yields every revocation in force, as it would be announced now. */
  *running(): Generator<AnonymousRevocation> {
    if (this.#longestS > 0) yield this.#anonymous('lifetime', '', this.#longestS, 2_000 * this.#longestS);
    if (this.#floorS > 0) yield this.#mark('everyone', '', this.#floorS);
    yield* this.#push();
    yield* this.#seen();
    for (const kind of MARK_KINDS)
      for (const [digest, markS] of this.#tables[kind].entries()) yield this.#mark(kind, digest, markS);
  }

  #markOf(subject: string): number {
    const policyS = this.#tables.policy.markOf(subject);
    return Math.max(this.#tables.subject.markOf(subject), this.#pushed.hasTakenBack(policyS) ? 0 : policyS);
  }

  get #nowS(): number {
    return this.#dependencies.clock.epochMs() / 1_000;
  }

  /** How long after its mark a revocation is kept. */
  get #keepS(): number {
    const { maxLifetimeS, leewayS } = this.#rules;
    return (maxLifetimeS ?? Math.max(this.#options.keepS, this.#longestS)) + leewayS;
  }

  #changed(): void {
    this.#everyoneS = Math.max(this.#rules.notBeforeS, this.#pushed.newest?.markS ?? 0, this.#floorS);
    this.#version = this.#dependencies.nextVersion();
  }

  #learn(kind: MarkKind, digest: string, markS: number): void {
    if (this.#raise(kind, digest, markS)) this.#announceAll([this.#mark(kind, digest, markS)]);
  }

  #raise(kind: MarkKind, digest: string, markS: number): boolean {
    // In a full table, an entry that refuses nothing would take the place of another.
    if (markS <= this.#floorS) return false;
    const raised = this.#tables[kind].raise(digest, markS, this.#nowS - this.#keepS);
    if (raised) this.#version = this.#dependencies.nextVersion();
    return raised;
  }

  /** Refuses everything as old as the lost revocation, here and at gateways that start later. */
  #evicted(kind: MarkKind, digest: string, markS: number): void {
    const { onEvicted, others } = this.#dependencies;
    onEvicted();
    // Tokens issued from the next second on must pass, whatever time the mark has.
    const floorS = Math.min(markS, Math.floor(this.#nowS) + 1);
    if (this.#raiseFloor(floorS)) this.#announceAll([this.#mark('everyone', '', floorS)]);
    others.withdraw({ kind, issuer: this.#issuer, whom: digest, value: markS });
  }

  #raiseFloor(markS: number): boolean {
    if (markS <= this.#floorS) return false;
    this.#floorS = markS;
    this.#changed();
    return true;
  }

  /** Announces everything again if tokens live longer than known, because all gateways must keep it longer. */
  #lengthen(longestS: number): void {
    this.#longestS = longestS;
    this.#announceAll(this.running());
  }

  #takePush(pushed: Pushed, forMs: number): boolean {
    const untilMs = this.#dependencies.clock.epochMs() + Math.max(forMs, this.#keepS * 1_000);
    const taken = this.#pushed.take(pushed, untilMs);
    if (taken) this.#changed();
    return taken;
  }

  #adoptPush(pushed: Pushed, forMs: number): void {
    if (!Number.isSafeInteger(pushed.markS) || !this.#takePush(pushed, forMs)) return;
    // Announce it again if it is kept longer here than at the sender. The tolerance keeps two gateways from announcing ever longer
    // times to each other.
    const leftMs = this.#pushed.untilMs - this.#dependencies.clock.epochMs();
    if (leftMs > forMs + 2_000) this.#announceAll(this.#push());
  }

  #announceAll(revocations: Iterable<AnonymousRevocation>): void {
    for (const revocation of revocations) this.#dependencies.others.announce(revocation);
  }

  #mark(kind: MarkKind | 'everyone', whom: string, markS: number): AnonymousRevocation {
    return this.#anonymous(kind, whom, markS, (markS + this.#keepS - this.#nowS) * 1_000);
  }

  *#push(): Generator<AnonymousRevocation> {
    const { newest, untilMs } = this.#pushed;
    if (newest === null) return;
    const forMs = untilMs - this.#dependencies.clock.epochMs();
    yield this.#anonymous('push', String(newest.markS), newest.order, forMs);
  }

  *#seen(): Generator<AnonymousRevocation> {
    for (const whom of ['sid', 'none'] as const) {
      const seenS = this.#seenS[whom];
      const forMs = (seenS + HOUR_S + this.#keepS - this.#nowS) * 1_000;
      if (forMs > 0) yield this.#anonymous('seen', whom, seenS, forMs);
    }
  }

  #anonymous(
    kind: AnonymousRevocation['kind'],
    whom: string,
    value: number,
    forMs: number,
  ): AnonymousRevocation {
    return { kind, issuer: this.#issuer, whom, value, forMs: Math.ceil(forMs) };
  }
}

/** More issuers than any configuration has. Limits what other gateways can make this one store. */
const MAX_ISSUERS = 1_000;

/** The revocations of every issuer. Outlives reloads, so an issuer that is configured again keeps its revocations. */
export class Revocations {
  readonly #options: RevocationOptions;
  readonly #clock: Clock;
  readonly #onEvicted: () => void;
  readonly #issuers = new Map<string, IssuerRevocations>();
  #sharing: RevocationSharing | null = null;
  #version = 0;

  /** @param onEvicted called for each revocation dropped for lack of room; everything as old is then refused */
  constructor(options: RevocationOptions, clock: Clock, onEvicted: () => void) {
    this.#options = options;
    this.#clock = clock;
    this.#onEvicted = onEvicted;
  }

  /** The revocations of one issuer, by its name in tokens. */
  of(issuer: string): IssuerRevocations {
    return this.#ofDigest(digestOf(issuer));
  }

  /** Announces everything that this gateway learns from now on to the others. */
  shareBy(sharing: RevocationSharing): void {
    this.#sharing = sharing;
  }

  /** How many revocations of all issuers are in force. */
  get counts(): { readonly sessions: number; readonly subjects: number } {
    let [sessions, subjects] = [0, 0];
    for (const { facts } of this.#issuers.values()) {
      sessions += facts.sessions;
      subjects += facts.subjects;
    }
    return { sessions, subjects };
  }

  adopt(revocation: AnonymousRevocation): void {
    if (this.#issuers.has(revocation.issuer) || this.#issuers.size < MAX_ISSUERS)
      this.#ofDigest(revocation.issuer).adopt(revocation);
  }

  /** Yields every revocation in force, as it would be announced now. */
  *running(): Generator<AnonymousRevocation> {
    for (const revocations of this.#issuers.values()) yield* revocations.running();
  }

  #ofDigest(digest: string): IssuerRevocations {
    const known = this.#issuers.get(digest);
    if (known !== undefined) return known;
    const made = new IssuerRevocations(digest, this.#options, {
      clock: this.#clock,
      others: {
        announce: revocation => this.#sharing?.announce(revocation),
        withdraw: revocation => this.#sharing?.withdraw(revocation),
      },
      onEvicted: this.#onEvicted,
      nextVersion: () => ++this.#version,
    });
    this.#issuers.set(digest, made);
    return made;
  }
}
