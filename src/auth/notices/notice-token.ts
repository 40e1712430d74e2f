import type { NoticeKind } from '../../core/index.ts';

/** Largest body of a notice: no provider sends one of a tenth of that. */
export const MAX_NOTICE_BYTES = 16_384;

const MEDIA_TYPES: Readonly<Record<NoticeKind, string>> = {
  // What Keycloak sends.
  not_before_push: 'text/plain',
  // OpenID Connect Back-Channel Logout 1.0, 2.5.
  back_channel_logout: 'application/x-www-form-urlencoded',
};

/** The signed token in the body of a notice, or what the body should have been. */
export function noticeToken(
  kind: NoticeKind,
  contentType: string | undefined,
  body: Buffer,
): { readonly token: string } | { readonly expected: string } {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (type !== MEDIA_TYPES[kind]) return { expected: `the body must be ${MEDIA_TYPES[kind]}` };
  if (body.length > MAX_NOTICE_BYTES)
    return { expected: `the body must not exceed ${MAX_NOTICE_BYTES} bytes` };
  const text = body.toString('latin1');
  if (kind === 'not_before_push') return { token: text };
  const tokens = new URLSearchParams(text).getAll('logout_token');
  const [token = ''] = tokens;
  return tokens.length === 1 ? { token } : { expected: 'the body must have one logout_token' };
}
