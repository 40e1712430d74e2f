export type { NoticeResponse } from './notice-response.ts';
export { MAX_NOTICE_BYTES } from './notice-token.ts';
export {
  type NoticeIssuer,
  type NoticeRequest,
  Notices,
  type NoticesDependencies,
  SeenNotices,
} from './notices.ts';
