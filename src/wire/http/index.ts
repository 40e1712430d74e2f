export * from './address.ts';
export * from './address-keys.ts';
export { thumbprintIn } from './client-certificate.ts';
export { askedAddress, rewriteLocations } from './client-location.ts';
export { askedMethod, type CorsRules, corsFields, mayOpenWebSocket, preflightFields } from './cors.ts';
export { readDestination } from './destination-field.ts';
export * from './field-edits.ts';
export {
  ForwardingRules,
  foldName,
  hasOwnMeaning,
  includesName,
  isKeepable,
  keepCallTrailers,
  keepResponseFields,
  keepTrailerFields,
  partTrailersOnly,
  policyItem,
  type ResponsePolicy,
  serviceLimitItem,
} from './field-rules.ts';
export { ipv6Groups } from './ipv6.ts';
export * from './request-head.ts';
export * from './sent-fields.ts';
export * from './target.ts';
export * from './token-places.ts';
export { WebhookPaths } from './webhook-paths.ts';
