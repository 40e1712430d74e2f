import type { GrantKind } from '../../core/index.ts';
import type { RedeemRequest } from './request.ts';

/** What the provider is to trade for tokens. */
export interface Grant {
  readonly kind: GrantKind;
  /** Of the token request, `grant_type` aside. Every value is a secret. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** RFC 6749, 4.1.3 and 6. */
export const GRANT_TYPES: Readonly<Record<GrantKind, string>> = {
  code: 'authorization_code',
  refresh_token: 'refresh_token',
};

export function codeGrant({ code, redirectUri, codeVerifier }: RedeemRequest): Grant {
  const verifier = codeVerifier === undefined ? undefined : { code_verifier: codeVerifier };
  return { kind: 'code', parameters: { code, redirect_uri: redirectUri, ...verifier } };
}

/** Asks for no `scope`, which means the one granted at the sign-in (RFC 6749, 6). */
export function refreshGrant(refreshToken: string): Grant {
  return { kind: 'refresh_token', parameters: { refresh_token: refreshToken } };
}
