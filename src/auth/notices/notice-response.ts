import type { NoticeFlaw, NoticeKind } from '../../core/index.ts';

/** The response to the sender of a notice. */
export interface NoticeResponse {
  readonly status: 200 | 204 | 400 | 429 | 503;
  readonly reason: string;
  /** All fields but the framing. */
  readonly fields: readonly string[];
  /** ASCII. */
  readonly body: string;
}

const NO_STORE = ['Cache-Control', 'no-store'] as const;

/** The response to an accepted notice: 200 for a logout (OpenID Connect Back-Channel Logout 1.0, 2.8), 204 for a push. */
export function acceptedNotice(kind: NoticeKind): NoticeResponse {
  return kind === 'back_channel_logout'
    ? { status: 200, reason: 'OK', fields: NO_STORE, body: '' }
    : { status: 204, reason: 'No Content', fields: NO_STORE, body: '' };
}

/** The response to a refused notice, with the error body of OAuth (RFC 6749, 5.2). Repeats nothing of the notice. */
export function refusedNotice(description: string): NoticeResponse {
  return { status: 400, reason: 'Bad Request', ...errorOf('invalid_request', description) };
}

export function undecidedNotice(retryAfterS: number): NoticeResponse {
  const error = errorOf(
    'temporarily_unavailable',
    'the key that signed it cannot be fetched now',
    retryAfterS,
  );
  return { status: 503, reason: 'Service Unavailable', ...error };
}

export function tooManyNotices(retryAfterS: number): NoticeResponse {
  const error = errorOf('temporarily_unavailable', 'too many bad notices from this address', retryAfterS);
  return { status: 429, reason: 'Too Many Requests', ...error };
}

function errorOf(
  error: string,
  description: string,
  retryAfterS: number | null = null,
): Pick<NoticeResponse, 'fields' | 'body'> {
  const retry = retryAfterS === null ? [] : ['Retry-After', String(retryAfterS)];
  return {
    fields: ['Content-Type', 'application/json', ...NO_STORE, ...retry],
    body: JSON.stringify({ error, error_description: description }),
  };
}

/** Descriptions of flaws for the sender's log. The flaws `body` and `claim` get more exact ones. */
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
