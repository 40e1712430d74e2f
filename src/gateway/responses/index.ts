export { fallenBehind, overloaded, poolFull, shareTaken } from './capacity-errors.ts';
export {
  badRequest,
  bodyTooLarge,
  bodyTooSlow,
  clientTooSlow,
  expectationNotMet,
  foreignOrigin,
  headTooLarge,
  internalFault,
  keysUnreachable,
  methodNotSupported,
  noRoute,
  otherVersion,
  signedInElsewhere,
  storeUnreachable,
  USUAL_METHODS,
  unauthenticated,
  upgradeNotServed,
  upstreamFailed,
  upstreamTooSlow,
  versionNotSupported,
  wrongMethod,
} from './errors.ts';
export { badDeadline, callReset, deadlineExceeded, notGrpc } from './grpc-errors.ts';
export { grpcStatusFields, grpcStatusIn, httpStatusOf } from './grpc-status.ts';
export { addOwnFields } from './own-fields.ts';
export { type Policies, policyFields, policyReportOf } from './policy-report.ts';
export { isWholeBucket, readFamily } from './rate-family.ts';
export {
  ADDRESS_BLOCKED,
  addressRestricted,
  bucketRefused,
  CALLER_BLOCKED,
  callerRestricted,
  globallyRefused,
  RateLimitError,
  webhookRestricted,
} from './rate-limit-error.ts';
export { type RateReport, reportOf } from './rate-report.ts';
export { type RenderedResponse, renderError, renderGrpcError, reportsRate } from './render-error.ts';
export { RestrictionResponses } from './restriction-responses.ts';
export {
  bodySpeaks,
  type ContractHead,
  completionOf,
  contractHead,
  fieldsBeside,
  isWhole,
  meantScope,
  rewritten429,
  type Scope,
  without,
} from './upstream-429.ts';
