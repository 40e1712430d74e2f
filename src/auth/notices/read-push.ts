import { type JsonObject, type Jwt, member } from '../token/index.ts';
import { type Flawed, flawed, idClaim, lacks, secondsClaim } from './notice-token.ts';

/** A not-before push of Keycloak, as `org.keycloak.representations.adapters.action.PushNotBeforeAction` has it. */
export interface Push {
  readonly kind: 'push';
  readonly id: string;
  readonly expiresS: number;
  readonly notBeforeS: number;
}

/** What a notice is checked against. */
export interface NoticeTerms {
  readonly issuer: string;
  readonly clientId: string;
  readonly nowS: number;
  readonly leewayS: number;
}

/** How far in the future a push may expire. Keycloak's expire after 30 seconds. */
const MAX_PUSH_S = 600;

/**
 * Claims of which every other token of the issuer has at least one. The same keys sign all tokens, and users can choose some of their
 * own claims, so a token with any of these is not a push.
 */
const CLAIMS_OF_OTHER_TOKENS = ['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'typ', 'azp', 'nonce', 'events'];

/** Reads a push, whose signature remains to be checked. */
export function readPush({ claims }: Pick<Jwt, 'claims'>, terms: NoticeTerms): Push | Flawed {
  if (CLAIMS_OF_OTHER_TOKENS.some(name => Object.hasOwn(claims, name))) return flawed('token_kind');
  if (member(claims, 'action') !== 'PUSH_NOT_BEFORE') return flawed('action');
  const resource = member(claims, 'resource');
  if (typeof resource !== 'string') return lacks('resource');
  if (resource !== terms.clientId) return flawed('audience');
  return readTimes(claims, terms);
}

function readTimes(claims: JsonObject, { nowS, leewayS }: NoticeTerms): Push | Flawed {
  const id = idClaim(claims, 'id');
  const expiresS = secondsClaim(claims, 'expiration');
  const notBeforeS = secondsClaim(claims, 'notBefore');
  if (id === null) return lacks('id');
  if (expiresS === null) return lacks('expiration');
  if (notBeforeS === null) return lacks('notBefore');
  if (nowS >= expiresS + leewayS) return flawed('expired');
  if (expiresS > nowS + leewayS + MAX_PUSH_S) return flawed('lifetime');
  // Reject a mark in the future, such as one in milliseconds by mistake: it would refuse every token for thousands of years.
  if (notBeforeS > expiresS) return lacks('notBefore');
  return { kind: 'push', id, expiresS, notBeforeS };
}

/** More milliseconds than a push can be valid for, with ten minutes of leeway on both sides. */
const ARRIVALS = 2 ** 21;

/** Puts pushes in order: by when they expire, then by when they arrive. */
export function orderOf({ expiresS }: Push, nowMs: number): number {
  const sinceMs = Math.floor(nowMs) - (expiresS - 2 * MAX_PUSH_S) * 1_000;
  return expiresS * ARRIVALS + Math.min(Math.max(sinceMs, 0), ARRIVALS - 1);
}
