import { jsonMembers, ProviderFault } from '../provider/index.ts';

/** The members of the provider's token response, unchecked. */
export type TokenMembers = ReadonlyMap<string, unknown>;

/** What a client gets for its code (docs/contract.md, 1.4), without the members that the provider did not issue. */
export interface AuthResponse {
  readonly accessToken: string;
  readonly tokenType: 'Bearer';
  /** Seconds. */
  readonly expiresIn?: number;
  readonly refreshToken?: string;
  /** Seconds. */
  readonly refreshExpiresIn?: number;
  readonly idToken?: string;
  /** Seconds since the epoch; 0: no mark. */
  readonly notBeforePolicy: number;
  readonly sessionState?: string;
  readonly scope: string;
}

/** A not-before mark that came with a subject's tokens. */
export interface LearntMark {
  readonly subject: string;
  /** Seconds since the epoch, above 0. */
  readonly notBefore: number;
}

interface ReadResponse {
  readonly response: AuthResponse;
  readonly mark: LearntMark | undefined;
}

/**
 * Turns the provider's response into the client's. Throws a `ProviderFault` when there is no access token that works as a
 * bearer token. Nothing else is a reason to fail, because the code is spent: a member of the wrong type counts as missing.
 *
 * Verifies no signature, because nothing depends on one: the tokens come from the token endpoint itself, over a connection
 * that authenticates it (OpenID Connect Core 1.0, 3.1.3.7, rule 6). The ID token is for the client to verify; the gateway
 * takes only `sid` from it. The access token is verified on every request made with it. The claims read here fill gaps in
 * this one response, and `sub` is the subject of a not-before mark.
 */
export function readTokenResponse(
  members: TokenMembers,
  requestedScope: string,
  nowSeconds: number,
): ReadResponse {
  const accessToken = text(members, 'access_token');
  if (accessToken === undefined)
    throw new ProviderFault('nonsense', 'the token response has no access_token');
  if (!isBearer(members.get('token_type'))) {
    throw new ProviderFault('nonsense', 'the token response has a token_type other than Bearer');
  }
  const claims = unverifiedClaims(accessToken);
  const refreshToken = text(members, 'refresh_token');
  const idToken = text(members, 'id_token');
  const notBeforePolicy = count(members.get('not-before-policy')) ?? 0;
  const subject = text(claims, 'sub');

  const expiresIn = count(members.get('expires_in')) ?? secondsLeft(claims, nowSeconds);
  const refreshExpiresIn =
    refreshToken === undefined
      ? undefined
      : (count(members.get('refresh_expires_in')) ?? secondsLeft(unverifiedClaims(refreshToken), nowSeconds));
  const sessionState =
    text(members, 'session_state') ?? text(claims, 'sid') ?? text(unverifiedClaims(idToken), 'sid');

  return {
    response: {
      accessToken,
      tokenType: 'Bearer',
      ...(expiresIn === undefined ? undefined : { expiresIn }),
      ...(refreshToken === undefined ? undefined : { refreshToken }),
      ...(refreshExpiresIn === undefined ? undefined : { refreshExpiresIn }),
      ...(idToken === undefined ? undefined : { idToken }),
      notBeforePolicy,
      ...(sessionState === undefined ? undefined : { sessionState }),
      scope: text(members, 'scope') ?? requestedScope,
    },
    mark: subject !== undefined && notBeforePolicy > 0 ? { subject, notBefore: notBeforePolicy } : undefined,
  };
}

/** Compares without letter case (RFC 6749, 7.1). Providers that omit `token_type` mean Bearer. */
function isBearer(tokenType: unknown): boolean {
  if (tokenType === undefined || tokenType === null) return true;
  return typeof tokenType === 'string' && tokenType.toLowerCase() === 'bearer';
}

function text(members: ReadonlyMap<string, unknown>, name: string): string | undefined {
  const value = members.get(name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A whole number from 0. Some providers send digits in quotes, or fractions. */
function count(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || number < 0) return undefined;
  const whole = Math.floor(number);
  return Number.isSafeInteger(whole) ? whole : undefined;
}

/** Seconds until `exp` (RFC 7519, 4.1.4), rounded down; 0 when it has passed. */
function secondsLeft(claims: ReadonlyMap<string, unknown>, nowSeconds: number): number | undefined {
  const expiry = count(claims.get('exp'));
  return expiry === undefined ? undefined : Math.max(0, Math.floor(expiry - nowSeconds));
}

/**
 * The claims of a JWT without a check of its signature; an empty map if it is not a JWT. Use it only for tokens that come
 * straight from the provider.
 */
function unverifiedClaims(token: string | undefined): ReadonlyMap<string, unknown> {
  const parts = (token ?? '').split('.', 4);
  if (parts.length !== 3) return new Map();
  return jsonMembers(Buffer.from(parts[1] ?? '', 'base64url')) ?? new Map();
}
