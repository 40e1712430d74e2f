import type { NoticeFlaw, NoticeKind } from '../../core/index.ts';
import type { KeySet } from '../key-set.ts';
import { isSignature, type JsonObject, type Jwt, member } from '../token/index.ts';

/** Largest body of a notice: no provider sends one of a tenth of that. */
export const MAX_NOTICE_BYTES = 16_384;

const MEDIA_TYPES: Readonly<Record<NoticeKind, string>> = {
  // What Keycloak sends.
  not_before_push: 'text/plain',
  // OpenID Connect Back-Channel Logout 1.0, 2.5.
  back_channel_logout: 'application/x-www-form-urlencoded',
};

/** The signed token in the body of a notice, or what the body should have been. */
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
  /** The claim that is missing or of the wrong type; null: the flaw is another. Named by our rules, never by the notice. */
  readonly claim: string | null;
}

export function flawed(flaw: Exclude<NoticeFlaw, 'claim'>): Flawed {
  return { kind: 'flawed', flaw, claim: null };
}

export function lacks(claim: string): Flawed {
  return { kind: 'flawed', flaw: 'claim', claim };
}

/** Ids are kept in memory by their digest, so their length hardly matters; providers' have some 40 characters. */
const MAX_ID_LENGTH = 512;

/** The claim that tells a notice from every other, or null. */
export function idClaim(claims: JsonObject, name: string): string | null {
  const id = member(claims, name);
  return typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH ? id : null;
}

/** A claim that is a whole number of seconds since the epoch, or null. */
export function secondsClaim(claims: JsonObject, name: string): number | null {
  const value = member(claims, name);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** `undecided`: the key could not be fetched now; it may exist. */
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
