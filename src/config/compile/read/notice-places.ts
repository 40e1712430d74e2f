import type { NoticePlaces } from '../../model/index.ts';
import type { NoticesConfig } from '../../schema/index.ts';

/** Where each kind of notice is taken. */
export function noticePlaces(notices: NoticesConfig): NoticePlaces {
  return {
    not_before_push: notices.not_before_push ?? null,
    back_channel_logout: notices.back_channel_logout ?? null,
  };
}
