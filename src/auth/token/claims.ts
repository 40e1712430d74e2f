import type { AccessTokenOptions } from '../options.ts';
import { type Invalid, invalid, lacking } from './invalid.ts';
import { type JsonObject, member } from './json.ts';
import type { Jwt } from './jwt.ts';

/**
 * Why this token is not an access token that is valid now, or null when nothing speaks against it but perhaps its
 * signature. Asked before the signature is checked: a wrong claim is found for a hundredth of the cost.
 */
export function refuseClaims(jwt: Jwt, options: AccessTokenOptions, nowMs: number): Invalid | null {
  return (
    refuseIssuer(jwt.claims, options.issuer) ??
    refuseTimes(jwt.claims, options.leewayMs, nowMs) ??
    refuseAudience(jwt.claims, options.audience) ??
    refuseKind(jwt, options)
  );
}

/** A claim that is a date (RFC 7519 section 2: seconds since the epoch, fractions allowed), or null. */
export function dateClaim(claims: JsonObject, name: string): number | null {
  const value = member(claims, name);
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** A claim that is text with something in it, or null. Half a surrogate pair has no UTF-8: such text is none. */
export function textClaim(claims: JsonObject, name: string): string | null {
  const value = member(claims, name);
  return typeof value === 'string' && value !== '' && value.isWellFormed() ? value : null;
}

function refuseIssuer(claims: JsonObject, issuer: string): Invalid | null {
  const value = member(claims, 'iss');
  if (typeof value !== 'string') return lacking('iss');
  return value === issuer ? null : invalid('issuer');
}

function refuseTimes(claims: JsonObject, leewayMs: number, nowMs: number): Invalid | null {
  const expiresAtS = dateClaim(claims, 'exp');
  const issuedAtS = dateClaim(claims, 'iat');
  if (expiresAtS === null) return lacking('exp');
  // Optional in RFC 7519, but without it no not-before mark could be applied.
  if (issuedAtS === null) return lacking('iat');
  if (nowMs >= expiresAtS * 1_000 + leewayMs) return invalid('expired');
  if (nowMs < issuedAtS * 1_000 - leewayMs) return invalid('not_yet_valid');
  if (member(claims, 'nbf') === undefined) return null;
  const notBeforeS = dateClaim(claims, 'nbf');
  if (notBeforeS === null) return lacking('nbf');
  return nowMs < notBeforeS * 1_000 - leewayMs ? invalid('not_yet_valid') : null;
}

function refuseAudience(claims: JsonObject, audience: string | null): Invalid | null {
  const value = member(claims, 'aud');
  if (value === undefined) return audience === null ? null : invalid('audience');
  const named: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!named.every(name => typeof name === 'string')) return lacking('aud');
  return audience === null || named.includes(audience) ? null : invalid('audience');
}

/**
 * All tokens of an issuer are signed with the same keys, so an ID, refresh or logout token has to be told by its marks:
 * the payload's `typ` (Keycloak), the header's `typ` (RFC 9068 section 4; OpenID Connect Back-Channel Logout section 2.4),
 * and members that only those tokens have.
 */
function refuseKind(jwt: Jwt, options: AccessTokenOptions): Invalid | null {
  const { claims } = jwt;
  const payloadType = member(claims, 'typ');
  const headerType = jwt.type?.toLowerCase().replace(/^application\//, '');
  if (payloadType !== undefined && payloadType !== 'Bearer') return invalid('token_kind');
  if (headerType !== undefined && headerType !== 'at+jwt' && headerType !== 'jwt')
    return invalid('token_kind');
  if (member(claims, 'at_hash') !== undefined || member(claims, 'events') !== undefined)
    return invalid('token_kind');
  if (payloadType === 'Bearer' || headerType === 'at+jwt') return null;
  // Nothing marks it as an access token. An ID token of a provider that writes no `typ` looks the same; its audience is
  // the client that signed in, so only an audience that is no such client tells the two apart.
  return options.audience !== null && options.audience !== options.clientId ? null : invalid('token_kind');
}
