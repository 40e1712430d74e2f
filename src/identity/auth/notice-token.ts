import { type NoticeKind, type Tenants, tenantIn } from '../../core/index.ts';
import type { KeySet } from './key-set.ts';
import type { JsonObject, Jwt } from './token/index.ts';
import { dateClaim, isJsonObject, member, signerOf, textClaim } from './token/index.ts';

/** The largest body of a notice, ten times what providers send. */
export const MAX_NOTICE_BYTES = 16_384;

const MEDIA_TYPES: Readonly<Record<NoticeKind, string>> = {
  // Keycloak's media type.
  not_before_push: 'text/plain',
  // OpenID Connect Back-Channel Logout 1.0, 2.5.
  back_channel_logout: 'application/x-www-form-urlencoded',
};

/** The signed token in a notice's body, or a description of the expected body. */
export function noticeToken(
  kind: NoticeKind,
  contentType: string | undefined,
  body: Buffer,
): { readonly token: string } | { readonly expected: string } {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (type !== MEDIA_TYPES[kind]) return { expected: `the body must be ${MEDIA_TYPES[kind]}` };
  if (body.length > MAX_NOTICE_BYTES)
    return { expected: `the body must not exceed ${MAX_NOTICE_BYTES} bytes` };
  const text = body.toString('latin1');
  if (kind === 'not_before_push') return { token: text };
  const tokens = new URLSearchParams(text).getAll('logout_token');
  const [token = ''] = tokens;
  return tokens.length === 1 ? { token } : { expected: 'the body must have one logout_token' };
}

/** Why a notice is refused, with a description for the sender's log. `body` and `claim` get more precise ones. */
export const NOTICE_FLAWS = {
  /** The body does not match the kind of notice. */
  body: 'the body is wrong',
  malformed: 'it is not a signed token',
  algorithm: 'alg is not accepted, or does not fit the key',
  critical: 'it has critical extensions',
  claim: 'a claim is missing or wrong',
  token_kind: 'it is a token of another kind',
  /** It is for an action of another endpoint. */
  action: 'it names another action',
  issuer: 'it is from another issuer',
  audience: 'it is for another client',
  expired: 'it has expired',
  not_yet_valid: 'it is not valid yet',
  /** It would be valid for longer than its id is remembered. */
  lifetime: 'it expires too late',
  replayed: 'it was sent before',
  unknown_key: 'its key is not among those of the issuer',
  signature: 'its signature is wrong',
} as const;
export type NoticeFlaw = keyof typeof NOTICE_FLAWS;

export interface Flawed {
  readonly kind: 'flawed';
  readonly flaw: NoticeFlaw;
  /** The claim that is missing or of the wrong type; `null` for other flaws. A name from our rules, never from the notice. */
  readonly claim: string | null;
}

export function flawedNotice(flaw: Exclude<NoticeFlaw, 'claim'>): Flawed {
  return { kind: 'flawed', flaw, claim: null };
}

function lacks(claim: string): Flawed {
  return { kind: 'flawed', flaw: 'claim', claim };
}

/** The longest accepted id. Only its digest stays in memory; ids of providers have some 40 characters. */
const MAX_ID_LENGTH = 512;

function idClaim(claims: JsonObject, name: string): string | null {
  const id = member(claims, name);
  return typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH ? id : null;
}

/** A claim that is a whole number of seconds since the epoch, or null. */
function secondsClaim(claims: JsonObject, name: string): number | null {
  const value = member(claims, name);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** The result of a signature check. `undecided` means that the key could not be fetched now; it may exist. */
type SignatureVerdict = 'good' | 'signature' | 'algorithm' | 'unknown_key' | 'undecided';

/**
 * Checks a signature with the issuer's keys. An unknown key causes a fetch, within the bounds of the key set, and so does a wrong
 * signature: the issuer may have replaced a key under its id.
 */
export async function checkSignature(
  jwt: Jwt,
  keys: KeySet,
  tenants: Tenants | null,
): Promise<SignatureVerdict> {
  const known = checkWithKnown(jwt, keys, tenants);
  if (known === 'good' || known === 'algorithm') return known;
  const joined = keys.fetching;
  if (!joined && keys.cooldownMs() > 0) return 'undecided';
  if (!(await keys.refresh())) return 'undecided';
  const fetched = checkWithKnown(jwt, keys, tenants);
  // A fetch that began before the notice arrived may lack a newer key.
  return fetched !== 'good' && fetched !== 'algorithm' && joined ? 'undecided' : fetched;
}

function checkWithKnown(
  jwt: Jwt,
  keys: KeySet,
  tenants: Tenants | null,
): Exclude<SignatureVerdict, 'undecided'> {
  const candidates = keys.candidates(jwt, tenants);
  if (candidates.length === 0) return keys.knows(jwt) ? 'algorithm' : 'unknown_key';
  return signerOf(jwt, candidates) === undefined ? 'signature' : 'good';
}

/** A logout token (OpenID Connect Back-Channel Logout 1.0, 2.4). */
export interface Logout {
  readonly kind: 'logout';
  readonly id: string;
  readonly expiresS: number;
  readonly issuedAtS: number;
  /** The session that ended; `null` for every session of the subject. */
  readonly sid: string | null;
  /** The subject that signed out; `null` if the token has only `sid`. */
  readonly subject: string | null;
}

/** How far in the future a logout token may expire. The specification recommends two minutes at most. */
const MAX_LOGOUT_S = 3_600;
/** How long one without `exp` is valid. Drafts did not have it, and neither do Ory Hydra 2.2 and Keycloak 23.0.3 (keycloak/keycloak#25753). */
const LOGOUT_WITHOUT_EXP_S = 120;
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** Reads a logout token, whose signature remains to be checked. Follows the steps of section 2.6. */
export function readLogout(jwt: Pick<Jwt, 'claims' | 'type'>, terms: NoticeTerms): Logout | Flawed {
  return refuseKind(jwt) ?? refuseAddressee(jwt.claims, terms) ?? readTimes(jwt.claims, terms);
}

/** Refuses other tokens that the same keys sign, such as ID tokens: only logout tokens have the event and never a `nonce`. */
function refuseKind({ claims, type }: Pick<Jwt, 'claims' | 'type'>): Flawed | null {
  const headerType = type?.toLowerCase().replace(/^application\//, '');
  if (headerType !== undefined && headerType !== 'logout+jwt' && headerType !== 'jwt')
    return flawedNotice('token_kind');
  const payloadType = member(claims, 'typ');
  // Keycloak sets `typ` in the payload.
  if (payloadType !== undefined && payloadType !== 'Logout') return flawedNotice('token_kind');
  if (Object.hasOwn(claims, 'nonce')) return flawedNotice('token_kind');
  const events = member(claims, 'events');
  if (!isJsonObject(events)) return lacks('events');
  // The value should be {}, which PHP writes as [].
  const event = member(events, EVENT);
  return isJsonObject(event) || Array.isArray(event) ? null : lacks('events');
}

/**
 * Whether a notice names this issuer, or one of its tenants. Logout tokens need not have the claim of the tenant, but none may
 * contradict it.
 */
export function isFrom(
  claims: JsonObject,
  { issuer, tenants }: Pick<NoticeTerms, 'issuer' | 'tenants'>,
): boolean {
  const iss = member(claims, 'iss');
  if (tenants === null || typeof iss !== 'string') return iss === issuer;
  const tenant = tenantIn(iss, tenants);
  const claimed = member(claims, tenants.claim);
  return tenant !== null && (claimed === undefined || claimed === tenant);
}

function refuseAddressee(claims: JsonObject, terms: NoticeTerms): Flawed | null {
  const iss = member(claims, 'iss');
  if (typeof iss !== 'string') return lacks('iss');
  if (!isFrom(claims, terms)) return flawedNotice('issuer');
  const audience = member(claims, 'aud');
  const named: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  if (named.length === 0 || !named.every(name => typeof name === 'string')) return lacks('aud');
  return named.includes(terms.clientId) ? null : flawedNotice('audience');
}

function readTimes(claims: JsonObject, { nowS, leewayS }: NoticeTerms): Logout | Flawed {
  const issuedAtS = dateClaim(claims, 'iat');
  if (issuedAtS === null || issuedAtS < 0) return lacks('iat');
  const expiresS = Object.hasOwn(claims, 'exp') ? dateClaim(claims, 'exp') : issuedAtS + LOGOUT_WITHOUT_EXP_S;
  if (expiresS === null) return lacks('exp');
  if (nowS >= expiresS + leewayS) return flawedNotice('expired');
  if (nowS < issuedAtS - leewayS) return flawedNotice('not_yet_valid');
  if (expiresS > nowS + leewayS + MAX_LOGOUT_S) return flawedNotice('lifetime');
  const id = idClaim(claims, 'jti');
  if (id === null) return lacks('jti');
  const [sid, subject] = [textClaim(claims, 'sid'), textClaim(claims, 'sub')];
  // Reject a claim of the wrong type instead of ignoring it: without `sid`, other sessions would end than intended.
  for (const name of ['sid', 'sub'])
    if (Object.hasOwn(claims, name) && textClaim(claims, name) === null) return lacks(name);
  if (sid === null && subject === null) return lacks('sid');
  return { kind: 'logout', id, expiresS, issuedAtS, sid, subject };
}

/** A not-before push of Keycloak, in the form of `org.keycloak.representations.adapters.action.PushNotBeforeAction`. */
export interface Push {
  readonly kind: 'push';
  readonly id: string;
  readonly expiresS: number;
  readonly notBeforeS: number;
}

interface NoticeTerms {
  readonly issuer: string;
  readonly tenants: Tenants | null;
  readonly clientId: string;
  readonly nowS: number;
  readonly leewayS: number;
}

/** How far in the future a push may expire. Keycloak's expire after 30 seconds. */
const MAX_PUSH_S = 600;

/**
 * Every other token of the issuer has at least one of these claims. The same keys sign all tokens, and users can choose some of their
 * own claims, so a token with any of these is not a push.
 */
const CLAIMS_OF_OTHER_TOKENS = ['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'typ', 'azp', 'nonce', 'events'];

/** Reads a push, whose signature remains to be checked. */
export function readPush({ claims }: Pick<Jwt, 'claims'>, terms: NoticeTerms): Push | Flawed {
  if (CLAIMS_OF_OTHER_TOKENS.some(name => Object.hasOwn(claims, name))) return flawedNotice('token_kind');
  if (member(claims, 'action') !== 'PUSH_NOT_BEFORE') return flawedNotice('action');
  const resource = member(claims, 'resource');
  if (typeof resource !== 'string') return lacks('resource');
  if (resource !== terms.clientId) return flawedNotice('audience');
  return readPushTimes(claims, terms);
}

function readPushTimes(claims: JsonObject, { nowS, leewayS }: NoticeTerms): Push | Flawed {
  const id = idClaim(claims, 'id');
  const expiresS = secondsClaim(claims, 'expiration');
  const notBeforeS = secondsClaim(claims, 'notBefore');
  if (id === null) return lacks('id');
  if (expiresS === null) return lacks('expiration');
  if (notBeforeS === null) return lacks('notBefore');
  if (nowS >= expiresS + leewayS) return flawedNotice('expired');
  if (expiresS > nowS + leewayS + MAX_PUSH_S) return flawedNotice('lifetime');
  // Reject a time in the future, such as one in milliseconds by mistake: it would refuse all tokens for thousands of years.
  if (notBeforeS > expiresS) return lacks('notBefore');
  return { kind: 'push', id, expiresS, notBeforeS };
}

/** More milliseconds than a push can be valid for, plus ten minutes of leeway before and after. */
const ARRIVALS = 2 ** 21;

/** Orders pushes by expiry, then by arrival. */
export function orderOf({ expiresS }: Push, nowMs: number): number {
  const sinceMs = Math.floor(nowMs) - (expiresS - 2 * MAX_PUSH_S) * 1_000;
  return expiresS * ARRIVALS + Math.min(Math.max(sinceMs, 0), ARRIVALS - 1);
}
