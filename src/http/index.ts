export {
  AddressSet,
  addressKey,
  addressOfKey,
  forwardedAddress,
  forwardedClient,
  networkOfKey,
  normalizeAddress,
} from './address.ts';
export { askedMethod, type CorsRules, corsFields, mayConnect, preflightFields } from './cors.ts';
export { ForwardingRules } from './forwarding-rules.ts';
export { readMaxForwards } from './max-forwards.ts';
export { foldName } from './name-table.ts';
export {
  addRequestId,
  addTrace,
  type HttpVersion,
  RequestHead,
  readTraceParent,
  traceContextFields,
  upstreamFields,
} from './request-head.ts';
export {
  keepCallTrailers,
  keepResponseFields,
  keepTrailerFields,
  policyItem,
  type ResponsePolicy,
  serviceLimitItem,
} from './response-fields.ts';
export { authorityOf, isPlainHost, mainValue, parseTarget, type Target } from './target.ts';
