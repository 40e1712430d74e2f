import type { NoticeKind } from '../../core/index.ts';

/** Where each kind of notice is taken: on the admin listener, on a public path, or (null) nowhere. */
export type NoticePlaces = Readonly<Record<NoticeKind, string | null>>;

export const NOTICE_KINDS = ['not_before_push', 'back_channel_logout'] as const;

/** The kinds that any of these providers may send. */
export function noticesIn(...all: readonly NoticePlaces[]): readonly NoticeKind[] {
  return NOTICE_KINDS.filter(kind => all.some(places => places[kind] !== null));
}
