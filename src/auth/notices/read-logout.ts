import { dateClaim, isJsonObject, type JsonObject, type Jwt, member, textClaim } from '../token/index.ts';
import { type Flawed, flawed, idClaim, lacks } from './notice-token.ts';
import type { NoticeTerms } from './read-push.ts';

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
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** Reads a logout token, whose signature remains to be checked. Follows the steps of section 2.6. */
export function readLogout(jwt: Pick<Jwt, 'claims' | 'type'>, terms: NoticeTerms): Logout | Flawed {
  return refuseKind(jwt) ?? refuseAddressee(jwt.claims, terms) ?? readTimes(jwt.claims, terms);
}

/** Refuses other tokens that the same keys sign, such as ID tokens: only logout tokens have the event and never a `nonce`. */
function refuseKind({ claims, type }: Pick<Jwt, 'claims' | 'type'>): Flawed | null {
  const headerType = type?.toLowerCase().replace(/^application\//, '');
  if (headerType !== undefined && headerType !== 'logout+jwt' && headerType !== 'jwt')
    return flawed('token_kind');
  const payloadType = member(claims, 'typ');
  // Keycloak sets `typ` in the payload.
  if (payloadType !== undefined && payloadType !== 'Logout') return flawed('token_kind');
  if (Object.hasOwn(claims, 'nonce')) return flawed('token_kind');
  const events = member(claims, 'events');
  if (!isJsonObject(events)) return lacks('events');
  return isJsonObject(member(events, EVENT)) ? null : lacks('events');
}

function refuseAddressee(claims: JsonObject, { issuer, clientId }: NoticeTerms): Flawed | null {
  const iss = member(claims, 'iss');
  if (typeof iss !== 'string') return lacks('iss');
  if (iss !== issuer) return flawed('issuer');
  const audience = member(claims, 'aud');
  const named: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  if (named.length === 0 || !named.every(name => typeof name === 'string')) return lacks('aud');
  return named.includes(clientId) ? null : flawed('audience');
}

function readTimes(claims: JsonObject, { nowS, leewayS }: NoticeTerms): Logout | Flawed {
  const issuedAtS = dateClaim(claims, 'iat');
  const expiresS = dateClaim(claims, 'exp');
  if (issuedAtS === null || issuedAtS < 0) return lacks('iat');
  if (expiresS === null) return lacks('exp');
  if (nowS >= expiresS + leewayS) return flawed('expired');
  if (nowS < issuedAtS - leewayS) return flawed('not_yet_valid');
  if (expiresS > nowS + leewayS + MAX_LOGOUT_S) return flawed('lifetime');
  const id = idClaim(claims, 'jti');
  if (id === null) return lacks('jti');
  const [sid, subject] = [textClaim(claims, 'sid'), textClaim(claims, 'sub')];
  // Reject a claim of the wrong type instead of ignoring it: ignoring `sid` would end other sessions than the one meant.
  for (const name of ['sid', 'sub'])
    if (Object.hasOwn(claims, name) && textClaim(claims, name) === null) return lacks(name);
  if (sid === null && subject === null) return lacks('sid');
  return { kind: 'logout', id, expiresS, issuedAtS, sid, subject };
}
