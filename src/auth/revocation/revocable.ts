import { digestOf } from '../../core/index.ts';
import { dateClaim, type Jwt, textClaim } from '../token/index.ts';

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
