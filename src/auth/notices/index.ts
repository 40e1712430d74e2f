export type { NoticeResponse } from './notice-response.ts';
export { MAX_NOTICE_BYTES } from './notice-token.ts';
export { type NoticeIssuer, type NoticeRequest, Notices, type NoticesDependencies } from './notices.ts';
export { SeenNotices } from './seen-notices.ts';
