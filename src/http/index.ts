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
export { isPlainHost } from './host.ts';
export { mainValue } from './main-value.ts';
export { readMaxForwards } from './max-forwards.ts';
export { foldName } from './name-table.ts';
export { policyItem, serviceLimitItem } from './rate-limit-fields.ts';
export { RequestHead } from './request-head.ts';
export {
  keepCallTrailers,
  keepResponseFields,
  keepTrailerFields,
  type ResponsePolicy,
} from './response-fields.ts';
export { authorityOf, parseTarget, type Target } from './target.ts';
export { readTraceParent, traceContextFields } from './trace-context.ts';
export { addRequestId, addTrace, type HttpVersion } from './trace-fields.ts';
export { upstreamFields } from './upstream-fields.ts';
