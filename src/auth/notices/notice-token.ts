import type { NoticeFlaw, NoticeKind } from '../../core/index.ts';
import type { KeySet } from '../key-set.ts';
import { isSignature, type JsonObject, type Jwt, member } from '../token/index.ts';

/** The largest body of a notice, ten times what providers send. */
export const MAX_NOTICE_BYTES = 16_384;

const MEDIA_TYPES: Readonly<Record<NoticeKind, string>> = {
  // Keycloak's media type.
  not_before_push: 'text/plain',
  // OpenID Connect Back-Channel Logout 1.0, 2.5.
  back_channel_logout: 'application/x-www-form-urlencoded',
};

/** The signed token in the body of a notice, or a description of the body that was expected. */
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

/** The notice is refused. */
export interface Flawed {
  readonly kind: 'flawed';
  readonly flaw: NoticeFlaw;
  /** The claim that is missing or of the wrong type; `null` for other flaws. A name from our rules, never from the notice. */
  readonly claim: string | null;
}

export function flawed(flaw: Exclude<NoticeFlaw, 'claim'>): Flawed {
  return { kind: 'flawed', flaw, claim: null };
}

export function lacks(claim: string): Flawed {
  return { kind: 'flawed', flaw: 'claim', claim };
}

/** The longest accepted id. Only its digest stays in memory; ids of providers have some 40 characters. */
const MAX_ID_LENGTH = 512;

/** The claim that identifies a notice, or `null`. */
export function idClaim(claims: JsonObject, name: string): string | null {
  const id = member(claims, name);
  return typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH ? id : null;
}

/** A claim that is a whole number of seconds since the epoch, or null. */
export function secondsClaim(claims: JsonObject, name: string): number | null {
  const value = member(claims, name);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** The result of a signature check. `undecided` means that the key could not be fetched now; it may exist. */
type SignatureVerdict = 'good' | 'signature' | 'algorithm' | 'unknown_key' | 'undecided';

/** Checks a signature by the issuer's keys. An unknown key causes a fetch, within the bounds of the key set. */
export async function checkSignature(jwt: Jwt, keys: KeySet): Promise<SignatureVerdict> {
  const known = checkWithKnown(jwt, keys);
  if (known !== 'unknown_key') return known;
  const joined = keys.fetching;
  if (!joined && keys.cooldownMs() > 0) return 'undecided';
  if (!(await keys.refresh())) return 'undecided';
  const fetched = checkWithKnown(jwt, keys);
  // A fetch that had begun before the notice came may lack a newer key.
  return fetched === 'unknown_key' && joined ? 'undecided' : fetched;
}

function checkWithKnown(jwt: Jwt, keys: KeySet): Exclude<SignatureVerdict, 'undecided'> {
  const candidates = keys.candidates(jwt.algorithm, jwt.keyId);
  if (candidates.length === 0)
    return jwt.keyId !== null && keys.knows(jwt.keyId) ? 'algorithm' : 'unknown_key';
  const signed = Buffer.from(jwt.signingInput, 'latin1');
  const isGood = candidates.some(({ keyObject }) =>
    isSignature(jwt.algorithm, keyObject, signed, jwt.signature),
  );
  return isGood ? 'good' : 'signature';
}
