import { type Configuration, genericGrantRequest } from 'openid-client';
import { jsonMembers, ProviderFault, type ProviderResponse } from './ask-provider.ts';
import type { ProviderClient } from './client-request.ts';
import type { AuthorizationParameters } from './options.ts';
import type { ProviderMetadata } from './provider.ts';
import { GRANT_TYPES, type Grant } from './read-request.ts';

/**
 * Exchanges a code or a refresh token for tokens with at most one token request. A provider that rotates refresh tokens treats a
 * second one with the same token as theft and ends the session (RFC 9700, 4.14.2). If a disconnect could cancel the request, it
 * would be uncertain whether the code or token is used up.
 *
 * Uses `genericGrantRequest` because `authorizationCodeGrant` passes `redirect_uri` through `URL`, which changes its spelling,
 * and the provider compares it byte for byte. Rejects as `ProviderClient.ask` does.
 */
export function requestTokens(
  { kind, parameters, proof }: Grant & { readonly proof: string | null },
  { fixed }: Pick<AuthorizationParameters, 'fixed'>,
  client: ProviderClient,
  metadata: ProviderMetadata,
): Promise<{ readonly members: TokenMembers; readonly dpopNonce: string | null }> {
  let members: TokenMembers = new Map();
  let nonce: string | null = null;
  // Some providers issue JWTs only if both requests name the API (RFC 8707, 2.2; Logto).
  const { resource } = fixed;
  const all = resource === undefined ? parameters : { ...parameters, resource };
  const request = {
    endpoint: 'token endpoint',
    url: metadata.tokenEndpoint,
    secrets: [...Object.values(parameters), ...(proof === null ? [] : [proof])],
    ...(proof === null ? undefined : { fields: { DPoP: proof } }),
    async send(configuration: Configuration) {
      await genericGrantRequest(configuration, GRANT_TYPES[kind], all);
      return { members, dpopNonce: nonce };
    },
    read({ body, dpopNonce }: ProviderResponse) {
      const found = jsonMembers(body);
      if (found === undefined)
        throw new ProviderFault('nonsense', 'the token response is not a JSON object', { status: 200 });
      members = found;
      nonce = dpopNonce;
      return Response.json(ESSENTIALS);
    },
  };
  return client.ask(request, metadata);
}

/**
 * What the library gets in place of a response with a JSON object. The library would throw on a null `refresh_token`, a missing
 * `token_type`, or an ID token with an unexpected issue time, algorithm or encryption. The user would then have to sign in again,
 * because the code is used up. `readTokenResponse` checks the members, and names what is wrong with them.
 */
const ESSENTIALS = { access_token: 'unread', token_type: 'Bearer' };

/** The members of the provider's token response, unchecked. */
type TokenMembers = ReadonlyMap<string, unknown>;

/** What a client gets for its code (docs/contract.md, 1.4), without members that the provider did not issue. */
interface AuthResponse {
  readonly accessToken: string;
  readonly tokenType: 'Bearer' | 'DPoP';
  /** Seconds. */
  readonly expiresIn?: number;
  readonly refreshToken?: string;
  /** Seconds. */
  readonly refreshExpiresIn?: number;
  readonly idToken?: string;
  /** Seconds since the epoch; 0 for none. */
  readonly notBeforePolicy: number;
  readonly sessionState?: string;
  readonly scope: string;
}

/** A not-before mark received with a subject's tokens. */
export interface LearntMark {
  /** The issuer that the subject's access token names; `null` if it is not a JWT. */
  readonly issuer: string | null;
  readonly subject: string;
  /** Seconds since the epoch, above 0. */
  readonly notBefore: number;
}

interface ReadResponse {
  readonly response: AuthResponse;
  readonly mark: LearntMark | undefined;
}

/**
 * Turns the provider's response into the client's. Throws a `ProviderFault` if there is no access token that works as a bearer
 * token or, with a proof, as one that is bound to a key. Nothing else is a reason to fail, because the code is used up: a member of the wrong type counts as missing.
 *
 * Verifies no signature, because nothing depends on one: the tokens come from the token endpoint itself, over a connection that
 * authenticates it (OpenID Connect Core 1.0, 3.1.3.7, rule 6). The ID token is for the client to verify; the gateway takes only
 * `sid` from it. The access token is verified on every request made with it. The claims read here fill gaps in this one response,
 * and `sub` is the subject of a not-before mark.
 */
export function readTokenResponse(
  members: TokenMembers,
  requestedScope: string,
  nowSeconds: number,
  sentProof = false,
): ReadResponse {
  const accessToken = text(members, 'access_token');
  if (accessToken === undefined)
    throw new ProviderFault('nonsense', 'the token response has no access_token');
  const tokenType = tokenTypeIn(members.get('token_type'));
  if (tokenType === null || (tokenType === 'DPoP' && !sentProof)) {
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
      : (count(members.get('refresh_expires_in') ?? members.get('refresh_token_expires_in')) ??
        secondsLeft(unverifiedClaims(refreshToken), nowSeconds));
  const sessionState =
    text(members, 'session_state') ?? text(claims, 'sid') ?? text(unverifiedClaims(idToken), 'sid');

  return {
    response: {
      accessToken,
      tokenType,
      ...(expiresIn === undefined ? undefined : { expiresIn }),
      ...(refreshToken === undefined ? undefined : { refreshToken }),
      ...(refreshExpiresIn === undefined ? undefined : { refreshExpiresIn }),
      ...(idToken === undefined ? undefined : { idToken }),
      notBeforePolicy,
      ...(sessionState === undefined ? undefined : { sessionState }),
      scope: grantedScopes(members.get('scope')) ?? requestedScope,
    },
    mark:
      subject !== undefined && notBeforePolicy > 0
        ? { issuer: text(claims, 'iss') ?? null, subject, notBefore: notBeforePolicy }
        : undefined,
  };
}

/** Compares without letter case (RFC 6749, 7.1). Providers that omit `token_type` mean Bearer. */
function tokenTypeIn(written: unknown): AuthResponse['tokenType'] | null {
  if (written === undefined || written === null) return 'Bearer';
  const word = typeof written === 'string' ? written.toLowerCase() : '';
  if (word === 'dpop') return 'DPoP';
  return word === 'bearer' ? 'Bearer' : null;
}

function text(members: ReadonlyMap<string, unknown>, name: string): string | undefined {
  const value = members.get(name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The granted scopes, separated by spaces (RFC 6749, 5.1). Some providers send a list. */
function grantedScopes(value: unknown): string | undefined {
  const scopes: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isGood = scopes.every(scope => typeof scope === 'string' && scope !== '');
  return isGood && scopes.length > 0 ? scopes.join(' ') : undefined;
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
