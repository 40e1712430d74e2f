import type { Clock, NoticeKind, NoticeListener, TableMemory, Tenants } from '../../core/index.ts';
import { digestOf, ofTenant, retryAfterField } from '../../core/index.ts';
import type { CheckBudget } from './budget.ts';
import type { KeySet } from './key-set.ts';
import type { Flawed, Logout, NoticeFlaw, Push } from './notice-token.ts';
import {
  checkSignature,
  flawedNotice,
  isFrom,
  NOTICE_FLAWS,
  noticeToken,
  orderOf,
  readLogout,
  readPush,
} from './notice-token.ts';
import { makeRoom, sessionDigest } from './revocation-rules.ts';
import type { IssuerRevocations } from './revocations.ts';
import { type Jwt, member, parseJwt, tenantOf } from './token/index.ts';

export interface NoticeIssuer {
  readonly issuer: string;
  readonly tenants: Tenants | null;
  /** The gateway's client id there. */
  readonly clientId: string;
  readonly leewayMs: number;
  readonly keys: KeySet;
  readonly revocations: IssuerRevocations;
  readonly kinds: ReadonlySet<NoticeKind>;
}

export interface NoticeRequest {
  readonly kind: NoticeKind;
  readonly contentType: string | undefined;
  readonly body: Buffer;
  /** The key of the sender's address. */
  readonly address: string;
}

export interface NoticesDependencies {
  readonly seen: SeenNotices;
  /** Bounds the invalid notices of an address. Several threads may share it, so it is accessed through `soon`. */
  readonly budget: CheckBudget;
  readonly soon: TableMemory['soon'];
  /** Resolves once all threads of the process refuse everything that this one has learnt to refuse so far. */
  readonly allKnow: () => Promise<void>;
  readonly clock: Clock;
  readonly listener: NoticeListener;
}

type Verdict =
  | { readonly kind: 'accepted'; readonly notBeforeS: number | null }
  | { readonly kind: 'outdated' | 'reached_none' }
  | { readonly kind: 'undecided' }
  | (Flawed & { readonly description?: string });

const RETRY_MS = 5_000;

/**
 * Receives notices from providers: not-before pushes and logouts. Anyone can send one, and the provider signs other tokens with
 * the same keys. So cheap checks come first, the kind of the token is checked, and nothing takes effect before the signature is
 * verified.
 */
export class Notices {
  readonly #issuers: readonly NoticeIssuer[];
  readonly #dependencies: NoticesDependencies;

  constructor(issuers: readonly NoticeIssuer[], dependencies: NoticesDependencies) {
    this.#issuers = issuers;
    this.#dependencies = dependencies;
  }

  /** Checks a notice and applies it, in all threads before the response confirms it. Never rejects. */
  async take(request: NoticeRequest): Promise<NoticeResponse> {
    const { budget, soon, listener } = this.#dependencies;
    const { kind, address } = request;
    const told = { kind, flaw: null, claim: null, notBeforeS: null };
    const waitMs = await soon(() => budget.waitMs(address));
    if (waitMs > 0) {
      listener.noticeReceived({ ...told, outcome: 'put_off' });
      return laterNotice(429, 'too many bad notices from this address', waitMs);
    }
    const verdict = await this.#judge(request);
    if (verdict.kind === 'flawed' || verdict.kind === 'undecided')
      await soon(() => budget.failed(address, 1));
    if (verdict.kind === 'flawed') {
      const { flaw, claim } = verdict;
      listener.noticeReceived({ ...told, outcome: 'refused', flaw, claim });
      return refusedNotice(descriptionOf(verdict));
    }
    if (verdict.kind !== 'undecided') await this.#dependencies.allKnow();
    const notBeforeS = verdict.kind === 'accepted' ? verdict.notBeforeS : null;
    listener.noticeReceived({ ...told, outcome: verdict.kind, notBeforeS });
    if (verdict.kind !== 'undecided') return acceptedNotice(kind);
    return laterNotice(503, 'the key that signed it cannot be fetched now', RETRY_MS);
  }

  async #judge({ kind, contentType, body }: NoticeRequest): Promise<Verdict> {
    const found = noticeToken(kind, contentType, body);
    if ('expected' in found) return { ...flawedNotice('body'), description: found.expected };
    const jwt = parseJwt(found.token);
    if (jwt.kind === 'invalid') return { kind: 'flawed', flaw: parseFlaw(jwt.reason), claim: null };
    let verdict: Verdict = flawedNotice(kind === 'not_before_push' ? 'audience' : 'issuer');
    for (const issuer of this.#issuersOf(kind, jwt)) {
      const before: Verdict = verdict;
      verdict = await this.#judgeBy(issuer, kind, jwt);
      if (!mayBeOfAnother(verdict)) return verdict;
      if (before.kind === 'undecided') verdict = before;
    }
    return verdict;
  }

  async #judgeBy(issuer: NoticeIssuer, kind: NoticeKind, jwt: Jwt): Promise<Verdict> {
    const notice = this.#read(issuer, kind, jwt);
    if (notice.kind === 'flawed') return notice;
    const { seen } = this.#dependencies;
    const tenant = tenantOf(jwt.claims, issuer.tenants);
    const sender = tenant ?? issuer.issuer;
    if (seen.has(sender, notice.id)) return flawedNotice('replayed');
    const signature = await checkSignature(jwt, issuer.keys, issuer.tenants);
    if (signature === 'undecided') return { kind: 'undecided' };
    if (signature !== 'good') return flawedNotice(signature);
    const untilMs = notice.expiresS * 1_000 + issuer.leewayMs;
    if (!(await seen.take(sender, notice.id, untilMs))) return flawedNotice('replayed');
    return notice.kind === 'push' ? this.#push(issuer, notice) : signOut(issuer, notice, tenant);
  }

  #read(issuer: NoticeIssuer, kind: NoticeKind, jwt: Jwt): Push | Logout | Flawed {
    const nowS = this.#dependencies.clock.epochMs() / 1_000;
    const terms = { ...issuer, nowS, leewayS: issuer.leewayMs / 1_000 };
    return kind === 'not_before_push' ? readPush(jwt, terms) : readLogout(jwt, terms);
  }

  /**
   * The providers that may have sent the notice, to check it with their keys and rules. A push names only its client and its key,
   * and several providers may know the gateway by the same name. The provider that has the key is the sender; a new key may
   * belong to any of them.
   */
  #issuersOf(kind: NoticeKind, jwt: Jwt): readonly NoticeIssuer[] {
    const takers = this.#issuers.filter(({ kinds }) => kinds.has(kind));
    if (takers.length === 1) return takers;
    if (kind === 'back_channel_logout') return takers.filter(taker => isFrom(jwt.claims, taker));
    const named = takers.filter(({ clientId }) => clientId === member(jwt.claims, 'resource'));
    const owner = named.find(({ keys }) => keys.knows(jwt));
    return owner === undefined ? named : [owner];
  }

  #push({ revocations }: NoticeIssuer, push: Push): Verdict {
    const { notBeforeS } = push;
    const order = orderOf(push, this.#dependencies.clock.epochMs());
    const outcome = revocations.push({ markS: notBeforeS, order });
    return outcome === 'applied' ? { kind: 'accepted', notBeforeS } : { kind: 'outdated' };
  }
}

/** Whether another provider may have signed the notice. */
function mayBeOfAnother(verdict: Verdict): boolean {
  if (verdict.kind === 'flawed') return verdict.flaw === 'unknown_key' || verdict.flaw === 'signature';
  return verdict.kind === 'undecided';
}

/**
 * Ends the session named by `sid`, and the subject's tokens without `sid`, since they may belong to it; without `sid`, refuses all
 * tokens issued to the subject until then.
 */
function signOut(
  { revocations }: NoticeIssuer,
  { issuedAtS, ...names }: Logout,
  tenant: string | null,
): Verdict {
  const sid = names.sid === null ? null : ofTenant(tenant, names.sid);
  const subject = names.subject === null ? null : ofTenant(tenant, names.subject);
  if (sid !== null)
    revocations.endSession(sessionDigest(sid), issuedAtS, subject === null ? null : digestOf(subject));
  if (sid !== null && subject !== null) revocations.endUnnamedSessions(subject, issuedAtS);
  if (sid === null && subject !== null) revocations.revokeSubject(subject, Math.floor(issuedAtS) + 1);
  if (subject === null && revocations.namesNoSessions) return { kind: 'reached_none' };
  return { kind: 'accepted', notBeforeS: null };
}

/** The flaw of a notice that `parseJwt` refused. */
function parseFlaw(reason: string): Exclude<NoticeFlaw, 'claim'> {
  return reason === 'algorithm' || reason === 'critical' ? reason : 'malformed';
}

function descriptionOf({ flaw, claim, description }: Flawed & { readonly description?: string }): string {
  if (description !== undefined) return description;
  return claim === null ? NOTICE_FLAWS[flaw] : `${claim} is missing or wrong`;
}

interface SeenNoticesDependencies {
  readonly clock: Clock;
  /** Whether no gateway has claimed this name within this time; also true if the others cannot be asked. */
  readonly claim: (name: string, forMs: number) => Promise<boolean>;
}

/** The number of notices that a provider sends in several minutes when it signs everyone out. */
const MAX_SEEN = 100_000;

/**
 * Remembers the ids of genuine notices until they expire, so that each is applied once, by one gateway. If there is no room, the
 * oldest is forgotten: replaying it would change nothing.
 */
export class SeenNotices {
  readonly #dependencies: SeenNoticesDependencies;
  readonly #maxSeen: number;
  /** When each notice expires, since the epoch, by its digest. */
  readonly #seen = new Map<string, number>();

  constructor(dependencies: SeenNoticesDependencies, maxSeen = MAX_SEEN) {
    this.#dependencies = dependencies;
    this.#maxSeen = maxSeen;
  }

  get size(): number {
    return this.#seen.size;
  }

  has(issuer: string, id: string): boolean {
    return this.#isSeen(nameOf(issuer, id), this.#dependencies.clock.epochMs());
  }

  /** Remembers a notice. Resolves to whether it is the first with its id. */
  async take(issuer: string, id: string, untilMs: number): Promise<boolean> {
    const { clock, claim } = this.#dependencies;
    const nowMs = clock.epochMs();
    const name = nameOf(issuer, id);
    if (this.#isSeen(name, nowMs)) return false;
    makeRoom(this.#seen, this.#maxSeen, until => until <= nowMs);
    this.#seen.set(name, untilMs);
    return claim(name, Math.ceil(untilMs - nowMs));
  }

  #isSeen(name: string, nowMs: number): boolean {
    return (this.#seen.get(name) ?? 0) > nowMs;
  }
}

function nameOf(issuer: string, id: string): string {
  return digestOf(`${issuer} ${id}`);
}

export interface NoticeResponse {
  readonly status: 200 | 204 | 400 | 429 | 503;
  readonly reason: string;
  /** All fields except the framing. */
  readonly fields: readonly string[];
  /** ASCII. */
  readonly body: string;
}

const NO_STORE = ['Cache-Control', 'no-store'] as const;

/** The response to an accepted notice: 200 for a logout (OpenID Connect Back-Channel Logout 1.0, 2.8), 204 for a push. */
function acceptedNotice(kind: NoticeKind): NoticeResponse {
  return kind === 'back_channel_logout'
    ? { status: 200, reason: 'OK', fields: NO_STORE, body: '' }
    : { status: 204, reason: 'No Content', fields: NO_STORE, body: '' };
}

/** The response to a refused notice, with the OAuth error body (RFC 6749, 5.2). Repeats none of the notice. */
function refusedNotice(description: string): NoticeResponse {
  return withError(400, 'Bad Request', 'invalid_request', description);
}

/** Asks the sender to repeat the notice later. */
function laterNotice(status: 429 | 503, description: string, retryAfterMs: number): NoticeResponse {
  const reason = status === 429 ? 'Too Many Requests' : 'Service Unavailable';
  return withError(status, reason, 'temporarily_unavailable', description, retryAfterField(retryAfterMs));
}

function withError(
  status: NoticeResponse['status'],
  reason: string,
  error: string,
  description: string,
  retry: readonly string[] = [],
): NoticeResponse {
  const fields = ['Content-Type', 'application/json', ...NO_STORE, ...retry];
  return { status, reason, fields, body: JSON.stringify({ error, error_description: description }) };
}
