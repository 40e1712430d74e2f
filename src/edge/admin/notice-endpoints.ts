import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NoticeKind, TimerClock } from '../../core/index.ts';
import { MAX_NOTICE_BYTES, type NoticeRequest, type NoticeResponse } from '../../identity/auth/index.ts';
import { addressKey } from '../../wire/http/index.ts';
import { peerOf } from './admin-access.ts';
import { readBytes, send } from './api/index.ts';

export interface NoticeTaker {
  /** The kinds that the configuration assigns to the admin listener. */
  kinds(): ReadonlySet<NoticeKind>;
  take(request: NoticeRequest): Promise<NoticeResponse>;
}

/** The kinds of notices by path. Keycloak appends `k_push_not_before` to the "Admin URL" of a client. */
const KINDS: ReadonlyMap<string, NoticeKind> = new Map([
  ['/notices/k_push_not_before', 'not_before_push'],
  ['/notices/back_channel_logout', 'back_channel_logout'],
]);

/** The time for a complete body. Node's own timeouts allow minutes. */
const BODY_MS = 10_000;

/**
 * Takes a notice from a provider. Needs no admin token, because the notice is signed. @returns false if no provider's notices are
 * received at this path
 */
export async function answerNotice(
  request: IncomingMessage,
  response: ServerResponse,
  taker: NoticeTaker,
  clock: TimerClock,
): Promise<boolean> {
  const kind = KINDS.get(request.url?.split('?', 1)[0] ?? '');
  if (kind === undefined || !taker.kinds().has(kind)) return false;
  if (request.method !== 'POST') {
    send(response, 405, ['Allow', 'POST', 'Content-Type', 'text/plain'], 'Use POST.\n');
    return true;
  }
  const late = clock.after(BODY_MS, () => request.destroy());
  const body = await readBytes(request, MAX_NOTICE_BYTES).finally(() => clock.cancel(late));
  if (body === null) {
    const text = `The body must not exceed ${MAX_NOTICE_BYTES} bytes.\n`;
    send(response, 413, ['Content-Type', 'text/plain', 'Connection', 'close'], text);
    return true;
  }
  const contentType = request.headers['content-type'];
  const reply = await taker.take({ kind, contentType, body, address: addressKey(peerOf(request)) });
  send(response, reply.status, reply.fields, reply.body);
  return true;
}
