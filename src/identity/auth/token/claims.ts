import { type Tenants, tenantIn } from '../../../core/index.ts';
import type { AccessTokenOptions, ClaimMark } from '../options.ts';
import {
  claimAt,
  type Invalid,
  invalid,
  isJsonObject,
  type JsonObject,
  type Jwt,
  lacking,
  member,
} from './jwt.ts';

/**
 * Returns why this is not a valid access token now, or null if only the signature remains to be checked. Runs before the
 * signature check because it costs a hundredth of it.
 */
export function refuseClaims(
  jwt: Pick<Jwt, 'claims' | 'type'>,
  options: AccessTokenOptions,
  nowMs: number,
): Invalid | null {
  return (
    refuseIssuer(jwt.claims, options) ??
    refuseTimes(jwt.claims, options.leewayMs, nowMs) ??
    refuseLifetime(jwt.claims, options.maxLifetimeMs) ??
    refuseAudience(jwt.claims, options) ??
    refuseConfirmation(jwt.claims, options) ??
    refuseKind(jwt, options)
  );
}

/** A claim that is a date (RFC 7519, 2: seconds since the epoch, fractions allowed), or null. */
export function dateClaim(claims: JsonObject, name: string): number | null {
  const value = member(claims, name);
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** A claim that is non-empty text, or `null`. Text with a lone surrogate does not count: it has no UTF-8 form. */
export function textClaim(claims: JsonObject, name: string): string | null {
  const value = claimAt(claims, name);
  return typeof value === 'string' && value !== '' && value.isWellFormed() ? value : null;
}

/** Whether the token has the claim, or has it with the value. */
export function isMarked(claims: JsonObject, { claim, value }: ClaimMark): boolean {
  const found = claimAt(claims, claim);
  if (value === null) return found !== undefined && found !== null && found !== false && found !== '';
  return holdsOne(found, [value]);
}

/** Whether the claim equals one of these values, or contains one if it is a list. Numbers and booleans count as their text. */
export function holdsOne(found: unknown, values: readonly string[]): boolean {
  const all: readonly unknown[] = Array.isArray(found) ? found : [found];
  return all.some(value => isScalar(value) && values.includes(String(value)));
}

export function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function refuseIssuer(
  claims: JsonObject,
  { issuer, tenants }: Pick<AccessTokenOptions, 'issuer' | 'tenants'>,
): Invalid | null {
  const value = member(claims, 'iss');
  if (typeof value !== 'string') return lacking('iss');
  if (tenants === null) return value === issuer ? null : invalid('issuer');
  const tenant = member(claims, tenants.claim);
  if (typeof tenant !== 'string') return lacking(tenants.claim);
  return tenantIn(value, tenants) === tenant ? null : invalid('issuer');
}

/** The `iss` of a token whose issuer is a tenant, which its names belong to; `null` for a provider without tenants. */
export function tenantOf(claims: JsonObject, tenants: Tenants | null): string | null {
  const issuer = tenants === null ? null : member(claims, 'iss');
  return typeof issuer === 'string' ? issuer : null;
}

/** The year 33,658 if it is in seconds, or 2001 if it is in milliseconds. */
const MOST_SECONDS = 1e12;

function refuseTimes(claims: JsonObject, leewayMs: number, nowMs: number): Invalid | null {
  const expiresAtS = dateClaim(claims, 'exp');
  const issuedAtS = dateClaim(claims, 'iat');
  if (expiresAtS === null) return lacking('exp');
  // RFC 7519 makes it optional, but not-before marks need it. Milliseconds are malformed, rather than a sign of a fast clock.
  if (issuedAtS === null || issuedAtS > MOST_SECONDS) return lacking('iat');
  if (nowMs >= expiresAtS * 1_000 + leewayMs) return invalid('expired');
  if (nowMs < issuedAtS * 1_000 - leewayMs) return invalid('not_yet_valid');
  if (member(claims, 'nbf') === undefined) return null;
  const notBeforeS = dateClaim(claims, 'nbf');
  if (notBeforeS === null) return lacking('nbf');
  return nowMs < notBeforeS * 1_000 - leewayMs ? invalid('not_yet_valid') : null;
}

/** Runs after `refuseTimes`, which requires both claims. */
function refuseLifetime(claims: JsonObject, maxLifetimeMs: number | null): Invalid | null {
  if (maxLifetimeMs === null) return null;
  const lifetimeS = (dateClaim(claims, 'exp') ?? 0) - (dateClaim(claims, 'iat') ?? 0);
  return lifetimeS * 1_000 > maxLifetimeMs ? invalid('lifetime') : null;
}

function refuseAudience(
  claims: JsonObject,
  { audience, audienceClaim }: Pick<AccessTokenOptions, 'audience' | 'audienceClaim'>,
): Invalid | null {
  const named = audiencesIn(claims, audienceClaim);
  if (named === undefined) return audience === null ? null : invalid('audience');
  if (!named.every(name => typeof name === 'string')) return lacking(audienceClaim);
  return audience === null || audience.some(name => named.includes(name)) ? null : invalid('audience');
}

function audiencesIn(claims: JsonObject, claim: string): readonly unknown[] | undefined {
  const value = claimAt(claims, claim);
  return value === undefined || Array.isArray(value) ? value : [value];
}

/** Rejects tokens bound to something that the gateway does not check: otherwise a stolen one could be used. */
function refuseConfirmation(claims: JsonObject, { dpop }: AccessTokenOptions): Invalid | null {
  if (member(claims, 'cnf') === undefined || boundCertificate(claims) !== null) return null;
  return dpop !== 'off' && boundKey(claims) !== null ? null : invalid('confirmation');
}

/**
 * The thumbprint of the certificate that a token is bound to (RFC 8705, 3.1); `null` if it is not bound to one, or to something
 * else as well.
 */
export function boundCertificate(claims: JsonObject): string | null {
  return onlyThumbprint(member(claims, 'cnf'), 'x5t#S256');
}

/** The thumbprint of the key that a token is bound to (RFC 9449, 6.1); `null` as in `boundCertificate`. */
export function boundKey(claims: JsonObject): string | null {
  const bound = member(claims, 'cnf');
  if (!isJsonObject(bound)) return null;
  // Keycloak names the kind of key, since it also binds tokens to keys for other purposes than DPoP.
  const { 'kc-jkt-type': kind = 'DPoP', ...rest } = bound;
  return kind === 'DPoP' ? onlyThumbprint(rest, 'jkt') : null;
}

function onlyThumbprint(bound: unknown, name: string): string | null {
  if (!isJsonObject(bound) || Object.keys(bound).length !== 1) return null;
  const thumbprint = member(bound, name);
  return typeof thumbprint === 'string' && /^[\w-]{43}$/.test(thumbprint) ? thumbprint : null;
}

/**
 * Rejects ID, refresh and logout tokens, which the issuer signs with the same keys. They are recognised by the payload's `typ`
 * (Keycloak), the header's `typ` (RFC 9068, 4; OpenID Connect Back-Channel Logout, 2.4), `token_use` (Amazon Cognito), other claims
 * that name the kind, and members that only such tokens have. An ID token without any of these passes if the operator accepts ID
 * tokens.
 */
function refuseKind(jwt: Pick<Jwt, 'claims' | 'type'>, options: AccessTokenOptions): Invalid | null {
  const { claims } = jwt;
  const payloadType = member(claims, 'typ');
  const headerType = jwt.type?.toLowerCase().replace(/^application\//, '');
  // Keycloak puts the authentication scheme there.
  const isBearer = payloadType === 'Bearer' || (payloadType === 'DPoP' && boundKey(claims) !== null);
  if (payloadType !== undefined && !isBearer) return invalid('token_kind');
  if (headerType !== undefined && headerType !== 'at+jwt' && headerType !== 'jwt')
    return invalid('token_kind');
  const use = member(claims, 'token_use');
  // Ory Hydra uses the second value in its answers about opaque tokens.
  const isForAccess = use === 'access' || use === 'access_token';
  if (use !== undefined && !isForAccess) return invalid('token_kind');
  if (member(claims, 'events') !== undefined || saysRefreshOrId(claims)) return invalid('token_kind');
  const { tokenKind } = options;
  if (tokenKind === 'access_or_id') return null;
  if (member(claims, 'at_hash') !== undefined) return invalid('token_kind');
  if (isBearer || headerType === 'at+jwt' || isForAccess) return null;
  if (tokenKind !== 'access') return isMarked(claims, tokenKind) ? null : invalid('token_kind');
  // Nothing marks it as an access token, and without `typ` an ID token looks the same. The audience of an ID token is the client
  // that signed in, so only an audience other than that client distinguishes them.
  return namesAnotherAudience(claims, options) ? null : invalid('token_kind');
}

/** Claims in which other providers name the kind of token: Casdoor, PingAM, and libraries for Django and Flask. */
const SAYS_KIND = ['token_type', 'tokenType', 'tokenName', 'type'];
/**
 * Claims that only refresh tokens have, of Spring Security OAuth (spring-attic/spring-security-oauth#363) and Cloud Foundry's UAA.
 */
const OF_REFRESH_TOKENS = ['ati', 'granted_scopes'];

function saysRefreshOrId(claims: JsonObject): boolean {
  const kinds = SAYS_KIND.map(name => member(claims, name));
  return (
    kinds.some(kind => typeof kind === 'string' && /^(?:refresh|(?:refresh|id)[-_]?token)$/i.test(kind)) ||
    OF_REFRESH_TOKENS.some(name => Object.hasOwn(claims, name))
  );
}

/** Whether the token is for one of the audiences that is not the gateway's own client. */
function namesAnotherAudience(
  claims: JsonObject,
  { audience, audienceClaim, clientId }: AccessTokenOptions,
): boolean {
  const named = audiencesIn(claims, audienceClaim) ?? [];
  return audience?.some(name => name !== clientId && named.includes(name)) === true;
}
