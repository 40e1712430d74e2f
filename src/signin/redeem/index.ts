export { type AuthResponse, type LearntMark, readTokenResponse } from './auth-response.ts';
export { type Failure, failure, noLoginPageYet, refusedBy } from './failures.ts';
export { failureOf, judge } from './outcome.ts';
export {
  codeGrant,
  type Grant,
  readRefreshToken,
  readRequest,
  redirectRefusal,
  refreshGrant,
} from './request.ts';
export { jsonMembers, MAX_REQUEST_BYTES, mediaTypeRefusal } from './request-body.ts';
export { requestTokens } from './token-request.ts';
