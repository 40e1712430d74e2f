import { createHash, randomUUID } from 'node:crypto';
import { thumbprintOf } from '../../src/identity/auth/proofs/proof-keys.ts';
import { type IssuerKey, issuerKey, type SigningAlgorithm, signToken } from './token-issuer.ts';

type Members = Readonly<Record<string, unknown>>;

/** A client's own key, with which it proves that a token is its own (RFC 9449). */
export interface ClientKey {
  readonly key: IssuerKey;
  /** The public members alone. */
  readonly jwk: Members;
  /** Its thumbprint, as in `cnf.jkt`. */
  readonly thumbprint: string;
  /** The claim of tokens that are bound to it. */
  readonly cnf: { readonly jkt: string };
}

export function clientKey(alg: SigningAlgorithm = 'ES256'): ClientKey {
  const key = issuerKey(alg, null);
  const { use: _, alg: __, ...jwk } = key.jwk;
  const thumbprint = thumbprintOf(jwk) ?? '';
  return { key, jwk, thumbprint, cnf: { jkt: thumbprint } };
}

export function hashOfToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** A proof by this key. `claims` and `header` have the last word; undefined removes a member. */
export function proofOf({ key, jwk }: ClientKey, claims: Members, header: Members = {}): string {
  const usual = { jti: randomUUID(), htm: 'GET', iat: Math.floor(Date.now() / 1_000) };
  return signToken(key, { ...usual, ...claims }, { typ: 'dpop+jwt', jwk, ...header });
}
