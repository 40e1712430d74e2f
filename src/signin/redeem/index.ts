export { type AuthResponse, type LearntMark, readResponse } from './auth-response.ts';
export { type Failure, failure, noLoginPageYet } from './failures.ts';
export { codeGrant, type Grant, refreshGrant } from './grant.ts';
export { jsonMembers } from './json-members.ts';
export { failureOf, judge } from './outcome.ts';
export { refusedBy } from './refusal.ts';
export { readRefreshToken, readRequest, redirectRefusal } from './request.ts';
export { MAX_REQUEST_BYTES, mediaTypeRefusal } from './request-body.ts';
export { requestTokens } from './token-request.ts';
