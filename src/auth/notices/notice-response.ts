import type { NoticeFlaw, NoticeKind } from '../../core/index.ts';

/** What the sender of a notice gets. */
export interface NoticeResponse {
  readonly status: 200 | 204 | 400 | 429 | 503;
  readonly reason: string;
  /** All fields but the framing. */
  readonly fields: readonly string[];
  /** ASCII. */
  readonly body: string;
}

const NO_STORE = ['Cache-Control', 'no-store'] as const;

/** 200 as OpenID Connect Back-Channel Logout 1.0, 2.8 says; Keycloak takes 204 as well. */
export function taken(kind: NoticeKind): NoticeResponse {
  return kind === 'back_channel_logout'
    ? { status: 200, reason: 'OK', fields: NO_STORE, body: '' }
    : { status: 204, reason: 'No Content', fields: NO_STORE, body: '' };
}

/** The error body of OAuth (RFC 6749, 5.2), as section 2.8 wants it. Repeats nothing of the notice. */
export function refused(description: string): NoticeResponse {
  return { status: 400, reason: 'Bad Request', ...errorOf('invalid_request', description) };
}

export function undecidedNotice(retryAfterS: number): NoticeResponse {
  const { fields, body } = errorOf('temporarily_unavailable', 'the key that signed it cannot be fetched now');
  return {
    status: 503,
    reason: 'Service Unavailable',
    fields: [...fields, 'Retry-After', String(retryAfterS)],
    body,
  };
}

export function putOff(retryAfterS: number): NoticeResponse {
  const { fields, body } = errorOf('temporarily_unavailable', 'too many bad notices from this address');
  return {
    status: 429,
    reason: 'Too Many Requests',
    fields: [...fields, 'Retry-After', String(retryAfterS)],
    body,
  };
}

function errorOf(error: string, description: string): Pick<NoticeResponse, 'fields' | 'body'> {
  return {
    fields: ['Content-Type', 'application/json', ...NO_STORE],
    body: JSON.stringify({ error, error_description: description }),
  };
}

/** For the sender's log; `body` and `claim` are said more exactly. */
export const DESCRIPTIONS: Readonly<Record<NoticeFlaw, string>> = {
  body: 'the body is wrong',
  length: 'it is too long',
  malformed: 'it is not a signed token',
  algorithm: 'alg is not accepted, or does not fit the key',
  critical: 'it has critical extensions',
  claim: 'a claim is missing or wrong',
  token_kind: 'it is a token of another kind',
  action: 'it names another action',
  issuer: 'it is from another issuer',
  audience: 'it is for another client',
  expired: 'it has expired',
  not_yet_valid: 'it is not valid yet',
  lifetime: 'it expires too late',
  replayed: 'it was sent before',
  unknown_key: 'its key is not among those of the issuer',
  signature: 'its signature is wrong',
};
