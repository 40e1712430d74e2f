export { readTokenResponse } from './auth-response.ts';
export { type FailedOutcome, failure, failureOf, noLoginPageYet } from './failures.ts';
export {
  codeGrant,
  type Grant,
  readRefreshToken,
  readRequest,
  redirectRefusal,
  refreshGrant,
} from './request.ts';
export { MAX_REQUEST_BYTES, mediaTypeRefusal } from './request-body.ts';
export { requestTokens } from './token-request.ts';
