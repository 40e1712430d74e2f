export {
  AddressSet,
  addressKey,
  addressOfKey,
  forwardedAddress,
  forwardedClient,
  IPV6_PREFIX,
  networkOfKey,
  normalizeAddress,
} from './address.ts';
export { thumbprintIn } from './client-certificate.ts';
export { clientAddress, rewriteLocations } from './client-location.ts';
export { askedMethod, type CorsRules, corsFields, mayOpenWebSocket, preflightFields } from './cors.ts';
export {
  type FieldOwner,
  FoldedNames,
  OWNED_OF_CALLS,
  OWNED_OF_REQUESTS,
  OWNED_OF_RESPONSES,
} from './field-edits.ts';
export {
  ForwardingRules,
  foldName,
  keepCallTrailers,
  keepResponseFields,
  keepTrailerFields,
  policyItem,
  type ResponsePolicy,
  serviceLimitItem,
} from './field-rules.ts';
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
  authorityOf,
  mainValue,
  type PathChange,
  parseTarget,
  readHost,
  readMaxForwards,
  servicePath,
  type Target,
} from './target.ts';
