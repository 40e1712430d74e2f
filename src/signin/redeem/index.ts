export { type AuthResponse, type LearntMark, readResponse } from './auth-response.ts';
export { type Failure, failure, failureOf } from './outcome.ts';
export { redeemCode } from './redeem.ts';
export {
  MAX_REQUEST_BYTES,
  mediaTypeRefusal,
  type RedeemRequest,
  readRequest,
  redirectRefusal,
} from './request.ts';
